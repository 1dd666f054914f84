package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/adapters/engine"
	"github.com/sluice-data/sluice/adapters/fleet"
	"github.com/sluice-data/sluice/adapters/lake"
)

// The variables of the credential that the user's own programs show at the gate.
const (
	gateKeyEnv    = "SLUICE_GATE_ACCESS_KEY"
	gateSecretEnv = "SLUICE_GATE_SECRET_KEY"
)

func workerCommand() *cobra.Command {
	var o fleetFlags
	var name, python, gate string
	var slots int
	var asJSON bool
	c := &cobra.Command{
		Use:   "worker --lake DIR --kv etcd:ENDPOINTS",
		Short: "Run a fleet's merges behind an S3 gate, until it is stopped",
		Long: `Run a fleet's merges behind an S3 gate, until it is stopped. A worker starts with etcd down: its gate serves
programs that write to the lake, and it runs no merge until etcd answers.

The first SIGTERM or Ctrl-C drains it: it takes nothing new, and what runs comes to its end. The second ends
it at once, which is as safe as a crash: the fleet recovers what is left.

Programs reach the lake through the gate with the key in $` + gateKeyEnv + ` and the secret in $` + gateSecretEnv + `;
without them a credential is drawn and printed with --json.`,
		Example: "  sluice worker --lake /lake --kv etcd:etcd-0:2379 --endpoint worker-0 --owned db/events",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			if name == "" {
				var err error
				if name, err = hostName(); err != nil {
					return err
				}
			}
			cfg := fleet.WorkerConfig{
				GateAddress: gate, Slots: slots, ClientKey: os.Getenv(gateKeyEnv), ClientSecret: os.Getenv(gateSecretEnv),
			}
			var err error
			if cfg.Endpoint, err = endpoint(name); err != nil {
				return err
			}
			if err := gateAddress(gate); err != nil {
				return err
			}
			if slots < 1 {
				return usagef("--slots is %d; at least 1 is needed", slots)
			}
			if cfg.Python, err = engine.FindPython(ctx, python); err != nil {
				return err
			}
			if cfg.Common, err = o.common(ctx, c); err != nil {
				return err
			}
			if err := lake.Probe(ctx, cfg.Lake); err != nil {
				cfg.Unsafe = err.Error()
				cfg.Log.Error("this lake can't keep what merges build on: this worker runs none", "error", err)
			}
			w, err := fleet.OpenWorker(ctx, cfg)
			if err != nil {
				return err
			}
			report := startReport{Kind: "worker", Name: name, HTTP: w.Server.URL(), Gate: w.Gate.URL()}
			if asJSON {
				report.StorageOptions = w.Gate.StorageOptions(w.Client)
			}
			if err := announceMember(asJSON, report); err != nil {
				return err
			}
			return serve(ctx, w, w.Drain, cfg.Log)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&name, "endpoint", "", "stable name of this worker (default: the host's name)")
	c.Flags().StringVar(&python, "python", "", "Python with the pinned pylance (default: $SLUICE_PYTHON, .venv/bin/python, python3)")
	c.Flags().StringVar(&gate, "gate", freePort, "address of the S3 gate")
	c.Flags().IntVar(&slots, "slots", 1, "merges at a time")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
