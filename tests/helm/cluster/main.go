// Kubernetes without nodes: its API server, controllers and scheduler as one program, which is whichever
// of them it is called. One program is linked once. tests/helm/install builds it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // of CronJobs

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	programs := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": manager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	name := filepath.Base(os.Args[0])
	program, found := programs[name]
	if !found {
		fmt.Fprintf(os.Stderr, "%s: no such program\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(program()))
}
