// What a Java VM does with threads and signals: monitors, parallel streams, garbage collection by
// several threads, parked threads, and errors that reach it as SIGSEGV (null, the end of a stack).
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

public class Workers {
    static long total;
    static int depth;

    static synchronized void add(long value) {
        total += value;
    }

    static int recurse(int n) {
        depth = n;
        return recurse(n + 1) + 1;
    }

    static int lengthOfNothing(String[] nothing) {
        return nothing[0].length();
    }

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(8);
        var done = new CountDownLatch(200);
        for (int i = 0; i < 200; i++) {
            long n = i;
            pool.execute(() -> {
                List<byte[]> garbage = new ArrayList<>();
                for (int k = 0; k < 50; k++) garbage.add(new byte[10_000]);
                add(garbage.size() * n);
                done.countDown();
            });
        }
        done.await();
        pool.shutdown();
        System.out.println(total + " " + pool.awaitTermination(60, TimeUnit.SECONDS));
        System.out.println(LongStream.rangeClosed(1, 3_000_000).parallel().map(n -> n % 7).sum());
        System.gc();
        int caught = 0;
        for (int i = 0; i < 20_000; i++) {
            try {
                lengthOfNothing(new String[1]);
            } catch (NullPointerException expected) {
                caught++;
            }
        }
        System.out.println(caught);
        try {
            recurse(0);
        } catch (StackOverflowError expected) {
            System.out.println(depth > 1000);
        }
        Object gate = new Object();
        Thread waiter = new Thread(() -> {
            synchronized (gate) {
                try {
                    gate.wait();
                } catch (InterruptedException interrupted) {
                    System.out.println("interrupted");
                }
            }
        });
        waiter.start();
        while (waiter.getState() != Thread.State.WAITING) Thread.sleep(1);
        waiter.interrupt();
        waiter.join();
    }
}
