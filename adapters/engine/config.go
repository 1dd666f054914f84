package engine

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Config configures an [Engine]. The zero value of every field but Python is its default.
type Config struct {
	// Python is the interpreter, as [FindPython] returns it.
	Python string
	// MemoryLimit bounds what one engine process may allocate (RLIMIT_DATA); default [DefaultMemory]. A
	// process that wants more ends with [core.CodeEngineOOM].
	MemoryLimit core.Bytes
	// Threads is how many cores Lance's own work in one process may take; default: all that there are.
	Threads int
	// ReadThreads is how many SSTables of a pass are opened at once; default 8, at most 64.
	ReadThreads int
	// ReadyTime bounds the start of a process up to its first message; default 60 s.
	ReadyTime time.Duration
	// TempDir is where the program and the processes' home is made; default: the system's.
	TempDir string
	// Log is told of processes that start and end; default: nobody.
	Log *slog.Logger
}

// DefaultMemory is the limit of one engine process; a machine needs so much for each slot.
const DefaultMemory core.Bytes = 4 << 30

// minMemory is what importing pylance and its threads may take; with less no merge ever runs.
const minMemory = 256 << 20

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
	switch {
	case c.Python == "":
		return fmt.Errorf("engine config: Python is empty")
	case c.MemoryLimit != 0 && c.MemoryLimit < minMemory:
		return fmt.Errorf("engine config: MemoryLimit is %d bytes, at least %d needed", c.MemoryLimit, minMemory)
	case c.Threads < 0:
		return fmt.Errorf("engine config: Threads is %d", c.Threads)
	case c.ReadThreads < 0 || c.ReadThreads > 64:
		return fmt.Errorf("engine config: ReadThreads is %d, at most 64", c.ReadThreads)
	case c.ReadyTime < 0:
		return fmt.Errorf("engine config: ReadyTime is %s", c.ReadyTime)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.MemoryLimit == 0 {
		c.MemoryLimit = DefaultMemory
	}
	if c.ReadThreads == 0 {
		c.ReadThreads = 8
	}
	if c.ReadyTime == 0 {
		c.ReadyTime = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// environment is all that an engine process gets to see of the worker's environment: nothing. In
// particular it has no AWS_* variables and no proxy, and asks no metadata service for credentials, so that
// it reaches the lake only by the storage options of its job.
func environment(home string, threads int) []string {
	env := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"HOME=" + home,
		"TMPDIR=" + home,
		"LANG=C.UTF-8",
		"AWS_EC2_METADATA_DISABLED=true",
		// lance::index calls the MemWAL index an error each time: it would push out what matters.
		"LANCE_LOG=error,lance::index=off",
	}
	if threads > 0 {
		n := strconv.Itoa(threads)
		env = append(env, "LANCE_CPU_THREADS="+n, "TOKIO_WORKER_THREADS="+n, "RAYON_NUM_THREADS="+n, "OMP_NUM_THREADS="+n)
	}
	return env
}
