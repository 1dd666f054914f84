package lake_test

import (
	"os"
	"testing"

	"github.com/sluice-data/sluice/adapters/lake/s3test"
)

// racerEnv makes the test binary one of the processes of the race: its value is the lake's directory.
const racerEnv = "SLUICE_TEST_RACER"

func TestMain(m *testing.M) {
	s3test.Main()
	if dir := os.Getenv(racerEnv); dir != "" {
		os.Exit(runRacer(dir))
	}
	os.Exit(m.Run())
}
