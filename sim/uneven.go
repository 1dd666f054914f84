package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sluice-data/sluice/core"
)

// Uneven is what differs within one fleet, and stays so to its end. The zero value is a fleet of equals on
// tables that the masters own, with SSTables of one byte.
type Uneven struct {
	// Direct is how many tables, the last ones, no process declares: their writers merge them, until an
	// operator has them owned, and back.
	Direct int
	// Silent: the last master declares all tables but the first one, which its fellow own.
	Silent bool
	// Spread is by how many per cent the time limits of a process are longer than those of the fleet, at most.
	Spread int
	// Trigger is what the masters wait for; the last one takes whatever is there.
	Trigger core.Trigger
	// Passes: each worker has limits of its own for a pass.
	Passes bool
	// Size is what an SSTable takes at most; 0: each takes one byte. Some are not measured.
	Size core.Bytes
	// Room is what each worker takes at a time; Memory what its engines can take, which is no less than Size;
	// Largest the largest SSTable that is taken at all, and now and then one is larger. 0: without a bound.
	Room, Memory, Largest core.Bytes
	// Bad is a table with a shard that no engine can read: the generations from the seventh on are corrupt. 0:
	// there is none; its engines say so, or with Mute just die.
	Bad  int
	Mute bool
	// Unsafe: the last worker sees a lake that can't keep what the protocol builds on.
	Unsafe bool
}

func newUneven(p Profile) (u Uneven) {
	r := rand.New(rand.NewPCG(p.Seed, 0xdd_f1ee7))
	some := func(n int) bool { return r.IntN(n) == 0 }
	if some(3) {
		u.Direct = 1 + r.IntN(p.Tables)
	}
	u.Silent = p.Masters > 1 && some(8)
	if some(2) {
		u.Spread = 10 + r.IntN(40)
	}
	if some(3) {
		u.Trigger = core.Trigger{Generations: r.IntN(8), Age: time.Duration(1+r.IntN(120)) * time.Second}
	}
	u.Passes = some(3)
	if some(2) {
		u.Size = core.Bytes(1 + r.IntN(20))
	}
	if some(3) {
		u.Room = 1 + core.Bytes(r.IntN(3*max(1, int(u.Size))))
	}
	if some(4) {
		u.Memory = max(1, u.Size) + core.Bytes(r.IntN(20))
	}
	if some(6) {
		u.Largest = max(1, u.Size)
	}
	if some(5) {
		u.Bad, u.Mute = 1+r.IntN(p.Tables), some(2)
	}
	u.Unsafe = p.Workers > 1 && some(8)
	return u
}

func (u Uneven) String() string {
	var is []string
	say := func(so bool, format string, args ...any) {
		if so {
			is = append(is, fmt.Sprintf(format, args...))
		}
	}
	say(u.Direct > 0, "%d tables are direct", u.Direct)
	say(u.Silent, "the last master does not declare the first table")
	say(u.Spread > 0, "time limits up to %d %% longer", u.Spread)
	say(u.Trigger != core.Trigger{}, "masters wait for %d generations or %v", u.Trigger.Generations, u.Trigger.Age)
	say(u.Passes, "each worker has its own pass")
	say(u.Size > 0, "SSTables take up to %d bytes", u.Size)
	say(u.Room > 0, "workers take %d bytes", u.Room)
	say(u.Memory > 0, "engines have memory for %d bytes", u.Memory)
	say(u.Largest > 0, "SSTables above %d bytes are left alone", u.Largest)
	say(u.Bad > 0, "a shard of table %d is corrupt (silently: %v)", u.Bad, u.Mute)
	say(u.Unsafe, "the last worker sees an unsafe lake")
	if len(is) == 0 {
		return ""
	}
	return "  uneven: " + strings.Join(is, "; ") + "\n"
}

// limits are those of one process.
func (u Uneven) limits(draw *rand.Rand, l core.Limits) core.Limits {
	if u.Spread == 0 {
		return l
	}
	for _, d := range []*time.Duration{&l.Queue, &l.Execution, &l.NoProgress, &l.CancelGrace, &l.Barrier, &l.Probe, &l.KVHold, &l.Poll} {
		*d += *d * time.Duration(draw.IntN(u.Spread+1)) / 100
	}
	return l
}

// declares is what a process declares. Only a master may be silent: a worker that is would be no worker of the table.
func (r *run) declares(silent bool) core.Declaration {
	owned := r.targets[:len(r.targets)-r.profile.Uneven.Direct]
	if silent && len(owned) > 0 {
		owned = owned[1:]
	}
	return core.Declaration{Owned: owned}
}

// direct reports whether no process declares a table.
func (r *run) direct(t core.Target) bool {
	for _, o := range r.declares(false).Owned {
		if o == t {
			return false
		}
	}
	return true
}

// pass is what one pass of a worker takes.
func (r *run) pass(draw *rand.Rand) core.PassLimits {
	u, p := r.profile.Uneven, core.PassLimits{Generations: r.profile.Pass, Largest: r.profile.Uneven.Largest}
	if u.Size > 0 {
		p.Size = u.Size * core.Bytes(p.Generations) // so that one that is not measured counts for a large one
	}
	if u.Passes {
		p.Generations = 1 + draw.IntN(2*r.profile.Pass)
		p.Size = max(1, u.Size) + core.Bytes(draw.IntN(40))
	}
	return p
}

// self is how a worker merges the direct tables that it writes.
func (r *run) self(draw *rand.Rand) core.SelfMerge {
	return core.SelfMerge{
		Trigger: core.Trigger{Generations: 1 + draw.IntN(8), Age: time.Duration(10+draw.IntN(110)) * time.Second},
		Slots:   1 + draw.IntN(2),
	}
}

// spoil makes one shard of a table one that engines can't read.
func (r *run) spoil(t core.Target) {
	u, tb := r.profile.Uneven, r.w.lake.tables[t]
	if u.Bad > 0 && t == r.targets[u.Bad-1] {
		tb.shards[0].corrupt, tb.mute = 7, u.Mute
	}
}

// size is what the next SSTable of a table takes, and what its writer says of that.
func (r *run) size(v int64) (size core.Bytes, measured bool) {
	u := r.profile.Uneven
	if u.Size == 0 {
		return 1, true
	}
	if size = 1 + core.Bytes(v>>10)%u.Size; u.Largest > 0 && v>>20%40 == 0 {
		size = u.Largest + 1
	}
	return size, v>>26%8 != 0
}
