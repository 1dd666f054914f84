package doctor_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-data/sluice/adapters/doctor"
)

func TestAPortThatIsTakenOrCannotBeHadIsFound(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	for address, c := range map[string]struct {
		verdict doctor.Verdict
		words   string
	}{
		"127.0.0.1:0":       {doctor.OK, "can be listened on"},
		l.Addr().String():   {doctor.Failed, "in use"},
		"203.0.113.7:8080":  {doctor.Failed, "203.0.113.7"}, // an address of documents, of no machine
		"127.0.0.1:a port?": {doctor.Failed, "a port?"},
	} {
		want(t, examined(t, doctor.Port("http", address)), "http", c.verdict, c.words)
	}
}

func TestMemoryIsTheLeastOfTheMachineAndTheContainer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine int // GiB
		limits  map[string]string
		slots   int
		verdict doctor.Verdict
		words   string
	}{
		"a large machine":                     {64, nil, 4, doctor.OK, "64.0 GiB of the machine"},
		"a machine for fewer slots":           {8, nil, 2, doctor.Warning, "8.0 GiB of the machine"},
		"a container with a limit":            {64, map[string]string{"pod/worker": "6442450944\n"}, 1, doctor.OK, "6.0 GiB of the cgroup"},
		"a container in a smaller one":        {64, map[string]string{"pod": "2147483648\n", "pod/worker": "max\n"}, 1, doctor.Warning, "2.0 GiB of the cgroup"},
		"a container in which nothing starts": {64, map[string]string{"pod/worker": "536870912\n"}, 1, doctor.Failed, "0.5 GiB of the cgroup"},
	} {
		root := fstest.MapFS{
			"proc/meminfo":     {Data: fmt.Appendf(nil, "MemTotal:       %d kB\nMemFree: 1 kB\n", c.machine<<20)},
			"proc/self/cgroup": {Data: []byte("0::/pod/worker\n")},
		}
		for group, limit := range c.limits {
			root["sys/fs/cgroup/"+group+"/memory.max"] = &fstest.MapFile{Data: []byte(limit)}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examined(t, doctor.Memory(root, c.slots)), "memory", c.verdict, c.words)
		})
	}
	if f := examined(t, doctor.Memory(os.DirFS("/"), 1))["memory"]; !strings.Contains(f.Said, "GiB of the ") {
		t.Errorf("this machine: %+v", f)
	}
}

func TestAScratchDirectoryThatCannotBeWrittenIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want(t, examined(t, doctor.Scratch(dir)), "scratch", doctor.OK, dir)
	wantEmpty(t, dir)
	want(t, examined(t, doctor.Scratch(filepath.Join(dir, "none"))), "scratch", doctor.Failed, "no such file")
}
