// Work for a C program: goroutines that pass numbers on, sleep and collect garbage. Go's runtime
// brings its own threads, system calls and signals (SIGURG, to preempt goroutines) into the process.
package main

import "C"

import (
	"runtime"
	"sync"
	"time"
)

//export SumOfSquares
func SumOfSquares(n C.long) C.long {
	numbers := make(chan int64, 16)
	var sum int64
	var lock sync.Mutex
	var workers sync.WaitGroup
	for i := 0; i < 6; i++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for number := range numbers {
				var square int64
				for k := int64(0); k < number; k++ { // a loop without calls: only a signal ends its turn
					square += number
				}
				lock.Lock()
				sum += square
				lock.Unlock()
			}
		}()
	}
	for i := int64(1); i <= int64(n); i++ {
		numbers <- i
		if i%500 == 0 {
			time.Sleep(time.Millisecond)
			runtime.GC()
		}
	}
	close(numbers)
	workers.Wait()
	return C.long(sum)
}

func main() {}
