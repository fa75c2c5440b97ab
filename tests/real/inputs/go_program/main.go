// A Go program of its own, with cgo, as most of a distribution's are: its runtime finds the CPUs, makes
// all system calls by instructions of its own, and executes other programs.
package main

// #include <stdlib.h>
import "C"

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Lines that go to a server and back, over as many connections at a time.
func echo(connections int, lines int) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go io.Copy(connection, connection)
		}
	}()
	var clients sync.WaitGroup
	counts := make(chan int, connections)
	for i := 0; i < connections; i++ {
		clients.Add(1)
		go func() {
			defer clients.Done()
			connection, err := net.Dial("tcp", listener.Addr().String())
			check(err)
			defer connection.Close()
			buffer, count := make([]byte, 64), 0
			for line := 0; line < lines; line++ {
				_, err = connection.Write(buffer)
				check(err)
				_, err = io.ReadFull(connection, buffer)
				check(err)
				count++
			}
			counts <- count
		}()
	}
	clients.Wait()
	listener.Close()
	total := 0
	for i := 0; i < connections; i++ {
		total += <-counts
	}
	return total
}

func main() {
	fmt.Println("CPUs", runtime.NumCPU(), C.abs(-5))
	fmt.Println("lines", echo(8, 500))
	file, err := os.CreateTemp("", "go")
	check(err)
	for i := 0; i < 1000; i++ {
		fmt.Fprintln(file, i)
	}
	check(os.Remove(file.Name()))
	size, err := file.Seek(0, io.SeekEnd)
	check(err)
	fmt.Println("bytes", size)
	var children sync.WaitGroup
	for i := 0; i < 20; i++ {
		children.Add(1)
		go func() {
			defer children.Done()
			output, err := exec.Command("sh", "-c", "cat; exit 3").CombinedOutput()
			if len(output) != 0 || err.Error() != "exit status 3" {
				panic(err)
			}
		}()
	}
	children.Wait()
	start := time.Now()
	time.Sleep(5 * time.Millisecond)
	fmt.Println("slept", time.Since(start) >= 5*time.Millisecond)
	runtime.GC()
	os.Exit(4)
}
