package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/fleet"
)

func masterCommand() *cobra.Command {
	var o fleetFlags
	var id string
	var asJSON bool
	c := &cobra.Command{
		Use:   "master --lake DIR --kv etcd:ENDPOINTS",
		Short: "Find work for a fleet and watch over it, until it is stopped",
		Long: `Find work for a fleet and watch over it, until it is stopped. Any number of masters may run; nobody leads,
and each table is claimed by compare-and-swap. A master starts with etcd down: it serves its health, is not
ready, and goes on once etcd answers.`,
		Example: "  sluice master --lake /lake --kv etcd:etcd-0:2379,etcd-1:2379 --owned db/events",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			common, err := o.common(c.Context(), c)
			if err != nil {
				return err
			}
			if id == "" {
				if id, err = hostName(); err != nil {
					return err
				}
			}
			m, err := fleet.OpenMaster(c.Context(), fleet.MasterConfig{Common: common, ID: id})
			if err != nil {
				return err
			}
			if err := announceMember(asJSON, startReport{Kind: "master", Name: id, HTTP: m.Server.URL()}); err != nil {
				return err
			}
			return serve(c.Context(), m, func(context.Context) error { return nil }, common.Log)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&id, "id", "", "name of this master; no two have the same (default: the host's name)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// startReport is what a process of a fleet prints at its start.
type startReport struct {
	Kind           string            `json:"kind"`
	Name           string            `json:"name"`
	HTTP           string            `json:"http"`
	Gate           string            `json:"gate,omitempty"`
	StorageOptions map[string]string `json:"storage_options,omitempty"`
}

func announceMember(asJSON bool, m startReport) error {
	if asJSON {
		return printJSON(os.Stdout, m)
	}
	text := fmt.Sprintf("%-9s %s\nHTTP API  %s\n", m.Kind, m.Name, m.HTTP)
	if m.Gate != "" {
		text += fmt.Sprintf("S3 gate   %s\n", m.Gate)
	}
	_, err := fmt.Print(text)
	return err
}
