package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/core"
)

// Port listens for a moment where a process is going to listen.
func Port(check, address string) Check {
	return one(func(ctx context.Context) Finding {
		var c net.ListenConfig
		l, err := c.Listen(ctx, "tcp", address)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return failed(check, "stop the other program or choose another port; if it is a sluice that runs already, leave the flag out",
				fmt.Errorf("%s is in use", address))
		case err != nil:
			return failed(check, "give an address of this machine, and a port that this process may use", err)
		}
		at := l.Addr().String()
		if err := l.Close(); err != nil {
			return failed(check, "", err)
		}
		return passed(check, "%s can be listened on", at)
	})
}

// base is what a process takes beside its engines, with room for bodies on their way.
const base core.Bytes = 1 << 30

// Memory compares what this machine, or the container, gives with what so many engines may take. root is /.
func Memory(root fs.FS, slots int) Check {
	return one(func(context.Context) Finding {
		const check = "memory"
		have, from, err := memory(root)
		need := core.Bytes(slots)*engine.DefaultMemory + base
		switch {
		case err != nil:
			return warning(check, "", "how much there is can't be told: %v", err)
		case have < base:
			return failed(check, "give it at least "+gib(need), fmt.Errorf("%s of %s: no engine starts with so little", gib(have), from))
		case have < need:
			return warning(check, "give it "+gib(need)+", or fewer slots: an engine may take "+gib(engine.DefaultMemory),
				"%s of %s for %d slots", gib(have), from, slots)
		}
		return passed(check, "%s of %s for %d slots", gib(have), from, slots)
	})
}

func gib(b core.Bytes) string { return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30)) }

// memory is the least that any of the machine and the cgroups above this process allow.
func memory(root fs.FS) (have core.Bytes, from string, err error) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, "", err
	}
	_, line, _ := strings.Cut(string(text), "MemTotal:")
	fields := strings.Fields(line)
	if len(fields) < 2 || fields[1] != "kB" {
		return 0, "", errors.New("/proc/meminfo has no MemTotal in kB")
	}
	total, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || total <= 0 || total > math.MaxInt64/1024 {
		return 0, "", fmt.Errorf("/proc/meminfo has the MemTotal %s", fields[0])
	}
	have, from = core.Bytes(total)*1024, "the machine"
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return have, from, nil // no cgroups, no further limit
	}
	_, rest, _ := strings.Cut("\n"+string(own), "\n0::")
	group, _, _ := strings.Cut(rest, "\n")
	for group = path.Join("sys/fs/cgroup", group); group != "sys/fs"; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(group, "memory.max"))
		if err != nil {
			continue // the topmost has none
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && core.Bytes(limit) < have {
			have, from = core.Bytes(limit), "the cgroup"
		}
	}
	return have, from, nil
}

// enough is what bodies on their way may take for a while.
const enough = 1 << 30

// Scratch writes where bodies on their way are kept, and engines have their home.
func Scratch(dir string) Check {
	return one(func(context.Context) Finding {
		const check = "scratch"
		const hint = "name a writable directory with room by $TMPDIR"
		f, err := os.CreateTemp(dir, "sluice-doctor-")
		if err != nil {
			return failed(check, hint, err)
		}
		_, err = f.Write(make([]byte, 1<<20))
		if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
			return failed(check, hint, oneLine(err))
		}
		var s syscall.Statfs_t
		if err := syscall.Statfs(dir, &s); err != nil {
			return failed(check, hint, err)
		}
		free := core.Bytes(s.Bavail) * core.Bytes(s.Bsize)
		if free < enough {
			return warning(check, hint, "%s has %s free", dir, gib(free))
		}
		return passed(check, "%s has %s free", dir, gib(free))
	})
}
