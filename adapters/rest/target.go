package rest

import (
	"cmp"
	"context"

	"github.com/sluice-data/sluice/adapters/lake"
	"github.com/sluice-data/sluice/adapters/lance"
	"github.com/sluice-data/sluice/core"
)

// Target is how one table stands.
type Target struct {
	Name core.Target `json:"name"`
	Mode core.Mode   `json:"mode"`
	// Reason says why the target does not run though it has pending SSTables; empty if it runs or has none.
	Reason  core.Reason  `json:"reason"`
	Base    core.Version `json:"base_version"`
	TableID core.TableID `json:"table_id" doc:"empty if the table has not been adopted"`
	Marks   core.Marks   `json:"marks"`
	Pending Pending      `json:"pending"`
	// Running is the current execution.
	Running  *core.Execution      `json:"running"`
	Failures []core.FailureRecord `json:"failures"`
	// Broken says why the table can't be read or merged at all.
	Broken *core.Failure `json:"broken"`
}

// Pending sums up the SSTables above the marks. Rows and bytes are those that the shard manifests record;
// an SSTable without a record adds nothing.
type Pending struct {
	Generations int            `json:"generations"`
	Rows        int64          `json:"rows"`
	Bytes       core.Bytes     `json:"bytes"`
	Shards      []PendingShard `json:"shards"`
}

// PendingShard is what is pending of one shard.
type PendingShard struct {
	Shard       core.ShardID    `json:"shard"`
	Mark        core.Generation `json:"mark"`
	Generations int             `json:"generations"`
	Rows        int64           `json:"rows"`
	Bytes       core.Bytes      `json:"bytes"`
}

// PendingOf sums up what is pending of a table.
func PendingOf(t core.Table) Pending {
	p := Pending{Shards: []PendingShard{}}
	for _, s := range t.Shards {
		shard := PendingShard{Shard: s.Shard, Mark: t.Base.Marks.Of(s.Shard)}
		for _, st := range t.Pending(s) {
			shard.Generations++
			shard.Rows += max(0, st.Rows)
			shard.Bytes += max(0, st.Size)
		}
		if shard.Generations == 0 {
			continue
		}
		p.Generations += shard.Generations
		p.Rows += shard.Rows
		p.Bytes += shard.Bytes
		p.Shards = append(p.Shards, shard)
	}
	return p
}

// Targets is a list of tables, sorted by name.
type Targets struct {
	Targets []Target `json:"targets"`
}

func (a *api) targets(ctx context.Context, _ *none) (*body[Targets], error) {
	names, err := lake.Tables(ctx, a.cfg.Lake)
	if err != nil {
		return nil, err
	}
	v, err := a.view(ctx, standing()...)
	if err != nil {
		return nil, err
	}
	out := Targets{Targets: make([]Target, 0, len(names))}
	for _, t := range names {
		out.Targets = append(out.Targets, a.describe(ctx, v, t))
	}
	return &body[Targets]{out}, nil
}

type nameInput struct {
	Name string `query:"name" required:"true" doc:"the table's path under the lake, without .lance"`
}

func (a *api) target(ctx context.Context, in *nameInput) (*body[Target], error) {
	t, err := parse(in.Name)
	if err != nil {
		return nil, err
	}
	v, err := a.view(ctx, standing()...)
	if err != nil {
		return nil, err
	}
	d := a.describe(ctx, v, t)
	if d.Broken != nil && d.Broken.Code == core.CodeTableMissing {
		return nil, *d.Broken
	}
	return &body[Target]{d}, nil
}

// describe looks at a table's manifests; v holds the records.
func (a *api) describe(ctx context.Context, v *core.View, t core.Target) Target {
	tv := v.Target(t)
	d := Target{Name: t, Marks: core.Marks{}, Pending: Pending{Shards: []PendingShard{}}, Running: tv.Execution.Pointer(), Failures: failuresOf(tv)}
	var reason core.Reason
	d.Mode, reason = v.Mode(t)
	table, err := lance.ReadTable(ctx, a.cfg.Lake, t)
	if err != nil {
		f := lance.FailureOf(err)
		d.Broken = &f
		return d
	}
	if f := core.Adoptable(table); !f.OK() {
		d.Broken = &f
	}
	d.Base, d.TableID, d.Pending = table.Base.Version, table.Base.TableID, PendingOf(table)
	d.Marks = append(d.Marks, table.Base.Marks...)
	if d.Pending.Generations > 0 && (d.Running == nil || d.Running.Phase != core.Running) {
		d.Reason = cmp.Or(a.cfg.Master.Why(t), reason)
	}
	return d
}

func failuresOf(tv *core.TargetView) []core.FailureRecord {
	out := make([]core.FailureRecord, 0, len(tv.Failures))
	for _, f := range tv.Failures {
		out = append(out, f.Value)
	}
	return out
}

// standing covers the records that say how targets stand. History and takeovers are not among them: they
// are many, and are read for one target when asked for.
func standing() []core.Range {
	out := []core.Range{core.MasterRange(), core.WorkerRange(), allFailures()}
	for _, kind := range []string{"table/", "execution/", "mode/", "policy/"} {
		out = append(out, core.Prefixed(core.Root+kind))
	}
	return out
}

func allFailures() core.Range { return core.Prefixed(core.Root + "failure/") }
