package sim

import (
	"fmt"
	"strings"
	"time"
)

// named are configurations that people may ask for by name: each leaves of what a seed draws only the trouble that it
// is about.
var named = []struct {
	name, says string
	narrow     func(*Profile)
}{
	{"drawn", "whatever the seed draws: some kinds of faults are off, some extreme", func(*Profile) {}},
	{"calm", "no faults at all", func(p *Profile) { *p = p.calm() }},
	{"network", "messages and watches that get lost, late or twice, cut ways, failing probes", func(p *Profile) {
		r := p.Rates
		*p = p.calm()
		p.Rates.Lose, p.Rates.Slow, p.Rates.Twice, p.Rates.Lag = 40, max(20, r.Slow), max(20, r.Twice), max(50, r.Lag)
		p.Rates.Cut, p.Rates.Pair, p.Rates.Compact = 100, 100, 30
	}},
	{"storage", "a lake that is slow, blind, stale or away, and manifests that land late, badly answered or never", func(p *Profile) {
		r := p.Rates
		*p = p.calm()
		p.Rates.Put, p.Rates.Late, p.Rates.LakeLose, p.Rates.Blind = max(150, r.Put), max(400, r.Late), 30, 30
		p.Rates.Stale, p.Rates.LakeDown = r.Stale, 60
	}},
	{"kv", "a KV that is away, loses answers and leases, and compacts its past", func(p *Profile) {
		*p = p.calm()
		p.Rates.KVLose, p.Rates.KVDown, p.Rates.Compact, p.Rates.Lag = 60, 100, 60, 100
	}},
	{"crashes", "processes and engines that die, hang, stop and come back, between any two effects", func(p *Profile) {
		r := p.Rates
		*p = p.calm()
		p.Rates.Crash, p.Rates.Process, p.Rates.Pause, p.Rates.Engine = max(2, r.Crash), 150, 100, max(150, r.Engine)
	}},
	{"operators", "operators who flip modes and policies, drain workers and adopt tables, and users who restore and drop them", func(p *Profile) {
		*p = p.calm()
		p.Rates.Operator, p.Rates.History, p.Rates.Drain = 150, 40, 40
	}},
	{"memory", "engines that run out of memory, SSTables of all sizes, a shard that nobody can read", func(p *Profile) {
		u, tables := p.Uneven, p.Tables
		*p = p.calm()
		u.Size = max(4, u.Size)
		u.Memory, u.Bad, u.Mute = u.Size+u.Size/2, 1+int(p.Seed)%tables, p.Seed%2 == 0
		p.Uneven = u
	}},
	{"hand-over", "tables that change hands while their owner lives and commits", func(p *Profile) {
		p.Rates.Plot = 1000
		p.Rates.Every *= 4
	}},
}

// calm is the fleet of a profile without any faults.
func (p Profile) calm() Profile {
	work, write, client := p.Rates.Work, p.Rates.Write, p.Rates.Client
	p.Rates = Rates{Work: work, Write: write, Client: client, Every: max(p.Rates.Every, 10*time.Second)}
	p.Stalls, p.Hasty, p.Takeover = nil, false, false
	return p
}

// Profiles says what each named profile is about, one a line.
func Profiles() string {
	var b strings.Builder
	for _, n := range named {
		fmt.Fprintf(&b, "  %-10s %s\n", n.name, n.says)
	}
	return b.String()
}

// ProfileNamed is what a seed draws, narrowed to a named profile.
func ProfileNamed(name string, seed uint64, hours float64) (Profile, error) {
	var names []string
	for _, n := range named {
		names = append(names, n.name)
		if n.name == name || name == "" && n.name == "drawn" {
			p := newProfile(seed, hours)
			n.narrow(&p)
			p.Name = n.name
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("there is no profile %q; use one of %s", name, strings.Join(names, ", "))
}
