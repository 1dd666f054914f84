package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/adapters/rest"
	"github.com/sluice-data/sluice/core"
)

// devReport is what dev prints at its start.
type devReport struct {
	Lake           string            `json:"lake"`
	KV             string            `json:"kv"`
	HTTP           string            `json:"http"`
	Gate           string            `json:"gate"`
	StorageOptions map[string]string `json:"storage_options"`
	Owned          []core.Target     `json:"owned"`
	Draining       []core.Target     `json:"draining"`
	// Unowned are tables with pending SSTables that nobody merges.
	Unowned []unowned `json:"unowned"`

	example core.Target
}

type unowned struct {
	Target      core.Target `json:"target"`
	Generations int         `json:"generations"`
	Command     string      `json:"command"`
}

func announceDev(ctx context.Context, n *node, s settings, asJSON bool) error {
	r := devReport{
		Lake: n.Lake.Dir(), KV: n.ID.ID, HTTP: n.server.URL(), Gate: "http://" + n.Gate.Addr(),
		StorageOptions: n.Gate.StorageOptions(n.Client),
		Owned:          append([]core.Target{}, s.owned...), Draining: append([]core.Target{}, s.draining...),
		Unowned: []unowned{}, example: "db/events",
	}
	tables, err := n.api.Targets(ctx)
	if err != nil {
		return err
	}
	if len(tables) > 0 {
		r.example = tables[0].Name
	}
	if len(s.owned) > 0 {
		r.example = s.owned[0]
	}
	for _, t := range tables {
		if t.Pending.Generations > 0 && t.Broken == nil && !slices.Contains(s.owned, t.Name) && !slices.Contains(s.draining, t.Name) {
			r.Unowned = append(r.Unowned, unowned{t.Name, t.Pending.Generations, ownCommand(r.Lake, s.owned, t)})
		}
	}
	if asJSON {
		return printJSON(os.Stdout, r)
	}
	return r.print(os.Stdout)
}

// ownCommand owns one more table.
func ownCommand(lake string, owned []core.Target, t rest.Target) string {
	return fmt.Sprintf("sluice dev --lake %s --owned %s", quoted(lake), quoted(join(append(slices.Clone(owned), t.Name))))
}

func (r devReport) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "lake      %s\nHTTP API  %s\nS3 gate   %s\n", r.Lake, r.HTTP, r.Gate)
	fmt.Fprintf(&b, "owned     %s\n", or(join(r.Owned), "none: name tables with --owned"))
	if len(r.Draining) > 0 {
		fmt.Fprintf(&b, "draining  %s\n", join(r.Draining))
	}
	fmt.Fprintf(&b, "\nReach the lake through the gate, from Python:\n\n%s", r.python())
	for _, u := range r.Unowned {
		fmt.Fprintf(&b, "\n%s has %s and is not owned. To merge it:\n  %s\n", u.Target, count(u.Generations, "pending SSTable"), u.Command)
	}
	b.WriteString("\nCtrl-C stops.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// python is code to paste.
func (r devReport) python() string {
	var b strings.Builder
	b.WriteString("storage_options = {\n")
	keys := make([]string, 0, len(r.StorageOptions))
	for k := range r.StorageOptions {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		fmt.Fprintf(&b, "    %q: %q,\n", k, r.StorageOptions[k])
	}
	folder := path.Dir(string(r.example))
	uri := "s3://lake"
	if folder != "." {
		uri += "/" + folder
	}
	b.WriteString("}\n")
	fmt.Fprintf(&b, "\nimport lance\ndataset = lance.dataset(%q, storage_options=storage_options)\n", "s3://lake/"+r.example.Path())
	fmt.Fprintf(&b, "\nimport lancedb\ndb = lancedb.connect(%q, storage_options=storage_options)\ntable = db.open_table(%q)\n", uri, path.Base(string(r.example)))
	return b.String()
}

func join(list []core.Target) string {
	names := make([]string, 0, len(list))
	for _, t := range list {
		names = append(names, string(t))
	}
	return strings.Join(names, ",")
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// quoted is a word for a shell.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,~+=:@", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
