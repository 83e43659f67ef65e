// Program etcd-go does with a store what programs do that use etcd's own client, and prints what came of it.
//
// Nothing it prints depends on ids, sizes or times, so that the output over two stores can be compared.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

var parts = []struct {
	name string
	run  func(context.Context, *clientv3.Client) error
}{
	{"kv", kv},
	{"mutex", mutex},
	{"election", election},
	{"stm", stm},
	{"lease", lease},
	{"watch", watch},
	{"compacted", compacted},
	{"fragments", fragments},
	{"mirror", mirrored},
	{"leasing", leased},
	{"maintenance", maintenance},
}

func main() {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   os.Args[1:],
		DialTimeout: 5 * time.Second,
		Logger:      zap.NewNop(),
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer client.Close()
	failed := false
	for _, part := range parts {
		fmt.Println("==", part.name)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if err := part.run(ctx, client); err != nil {
			fmt.Println("FAILED:", err)
			failed = true
		}
		cancel()
	}
	if failed {
		os.Exit(1)
	}
}
