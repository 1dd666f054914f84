package core

import "slices"

// Mode says who may merge a table.
type Mode string

// The modes of a table. A table without any declaration, policy or latch is Direct.
const (
	Direct   Mode = "direct"
	Owned    Mode = "owned"
	Draining Mode = "draining"
)

// Declaration is what one process says about targets, from MERGE_OWNED_TARGETS and
// MERGE_DRAIN_TARGETS: exact names, sorted, no wildcard.
type Declaration struct {
	Owned    []Target `json:"owned,omitempty"`
	Draining []Target `json:"draining,omitempty"`
}

// Says is the mode that the declaration gives a target; Direct if it names the target nowhere.
func (d Declaration) Says(t Target) Mode {
	switch {
	case slices.Contains(d.Draining, t):
		return Draining
	case slices.Contains(d.Owned, t):
		return Owned
	}
	return Direct
}

// Latch makes a declaration outlive the lease of the process that made it. It only goes up: none <
// owned < draining.
type Latch struct {
	Mode Mode       `json:"mode"`
	By   Instance   `json:"by"`
	At   WallMillis `json:"at_ms"`
}

// Declared is one live process with what it declares.
type Declared struct {
	Process Instance
	Says    Mode
	Capable bool
}

// Voices is everything that is said about one target: the input of [EffectiveMode].
type Voices struct {
	Live   []Declared // all live masters and the one worker that is judged
	Policy *Policy
	Latch  *Latch
}

// EffectiveMode is the mode of a target; a reason other than none means that nothing of it runs,
// whatever the mode. The first rule that fits decides. Mode unreadable = no merge of any kind, which
// the caller sees to by not asking.
func EffectiveMode(v Voices) (Mode, Reason) {
	var owned, silent, draining, incapable int
	for _, d := range v.Live {
		switch d.Says {
		case Draining:
			draining++
		case Owned:
			owned++
		default:
			silent++
		}
		if !d.Capable {
			incapable++
		}
	}
	policy, latch := Mode(""), Direct
	if v.Policy != nil {
		policy = v.Policy.Mode
	}
	if v.Latch != nil {
		latch = v.Latch.Mode
	}
	switch {
	case draining > 0 || policy == Draining || latch == Draining:
		return Draining, ReasonNone
	case policy == Direct && owned > 0:
		return Direct, ReasonModeDisagreement
	case policy == Direct && latch == Direct:
		return Direct, ReasonNone
	case policy == Owned, policy == "" && owned > 0 && silent == 0:
		if incapable > 0 {
			return Owned, ReasonModeDisagreement
		}
		return Owned, ReasonNone
	case latch == Owned && owned == 0:
		return Owned, ReasonLatched
	case owned > 0:
		return Owned, ReasonModeDisagreement
	}
	return Direct, ReasonNone
}

// Raises reports whether a declaration of m must write the latch, because it stands lower.
func (l *Latch) Raises(m Mode) bool { return rank(m) > rank(l.mode()) }

func (l *Latch) mode() Mode {
	if l == nil {
		return Direct
	}
	return l.Mode
}

func rank(m Mode) int { return slices.Index([]Mode{Direct, Owned, Draining}, m) }

// SetLatch writes the latch of a target. It compares the latch and all masters that it was judged by.
func SetLatch(v *View, t Target, l Latch) Txn {
	conds := []Cond{v.Target(t).Latch.Unchanged(), RangeUnchanged(MasterRange(), v.Revision)}
	return Txn{Name: "latch", If: conds, Then: []Op{Put(ModeKey(t), Encode(l))}}
}
