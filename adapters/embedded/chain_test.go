package embedded_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"

	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// chain judges the versions of the base, one after the other: there is no gap, and each of them was made by
// the test's own clients, admitted for an execution, or is a fence or an adoption, which change no row.
//
// NB: a version that was admitted for an execution and never forwarded may be admitted for the next one.
type chain struct {
	rig        *rig
	admissions string // see faultyKV
	from       core.Version
	foreign    map[core.Version]bool
}

// begin leaves out the versions that are there: the test's preparations.
func (c *chain) begin() { c.from = c.rig.look(events).Base.Version }

// client says that a client made this version.
func (c *chain) client(v uint64, err error) {
	c.rig.Helper()
	c.rig.must(err)
	c.foreign[core.Version(v)] = true
}

func (c *chain) admitted() map[core.Version][]core.ExecutionID {
	c.rig.Helper()
	out := map[core.Version][]core.ExecutionID{}
	f, err := os.Open(c.admissions)
	if os.IsNotExist(err) {
		return out
	}
	c.rig.must(err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v core.Version
		var e core.ExecutionID
		if n, _ := fmt.Sscanf(lines.Text(), "%d %s", &v, &e); n != 2 {
			continue // cut off by a kill: nobody was told of that admission
		}
		if !slices.Contains(out[v], e) {
			out[v] = append(out[v], e)
		}
	}
	return out
}

// check judges every version since begin.
func (c *chain) check() {
	r := c.rig
	r.Helper()
	head := r.look(events).Base
	admitted := c.admitted()
	before := c.version(head.Scheme, c.from)
	for v := c.from + 1; v <= head.Version; v++ {
		b := c.version(head.Scheme, v)
		silent := b.Facts.Operation == core.OpUpdateConfig && b.Fragments == before.Fragments && b.Rows == before.Rows && b.Facts.Marks.Equal(before.Facts.Marks)
		switch {
		case c.foreign[v], silent:
		case b.Facts.Operation == core.OpUpdateConfig:
			r.Errorf("v%d is a fence that changes something", v)
		case len(admitted[v]) == 0:
			r.Errorf("v%d (%s) is nobody's: not admitted, no client's, no fence", v, b.Facts.Operation)
		}
		before = b
	}
}

func (c *chain) version(scheme core.NamingScheme, v core.Version) lance.BaseFile {
	c.rig.Helper()
	b, err := lance.ReadBase(c.rig.Context(), c.rig.files, events, scheme, v)
	if err != nil {
		c.rig.Fatalf("v%d of the chain is missing: %v", v, err)
	}
	return b
}
