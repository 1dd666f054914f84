package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-data/sluice/core"
)

// BenchmarkFleetMerge shows what one merge with one base commit asks of etcd and of the lake.
func BenchmarkFleetMerge(b *testing.B) {
	const merges = 20
	f := newBenchFleet(b, core.Limits{Poll: time.Hour})
	tables := f.tables(1)
	f.open(tables)
	f.generation(tables[0], 1)
	f.merge(tables[0]) // which adopts it
	watch := f.phases(tables[0])
	var requests, bytes, master, worker int
	kinds := map[string]int{}
	for i := range merges {
		f.generation(tables[0], 2+i)
		f.etcd.reset()
		f.atMaster.reset()
		f.atOf.reset()
		_, err := f.master.Driver.Merge(b.Context(), tables[0], false)
		f.must(err)
		watch.next(b, core.Running)
		watch.over(b)
		n, size, by := f.etcd.total()
		requests, bytes = requests+n, bytes+size
		for k, v := range by {
			kinds[k] += v
		}
		n, _, _ = f.atMaster.total()
		master += n
		n, _, _ = f.atOf.total()
		worker += n
	}
	b.ReportMetric(float64(requests)/merges, "etcd-requests/merge")
	b.ReportMetric(float64(bytes)/merges, "etcd-bytes/merge")
	b.ReportMetric(float64(master)/merges, "master-lake-requests/merge")
	b.ReportMetric(float64(worker)/merges, "worker-lake-requests/merge")
	b.ReportMetric(0, "ns/op")
	b.Logf("etcd requests of %d merges: %v", merges, kinds)
}

// BenchmarkFleetIdle shows what tables cost of which nothing is pending. A sweep comes every two seconds instead
// of every minute, so that 120 s of the bench are an hour.
func BenchmarkFleetIdle(b *testing.B) {
	const tables, hour = 100, 120 * time.Second
	f := newBenchFleet(b, core.Limits{Poll: hour / 60})
	all := f.tables(tables)
	f.open(all)
	f.await("the modes to be latched", func() bool {
		return !slices.ContainsFunc(all, func(t core.Target) bool { return !f.view().Target(t).Latch.Present() })
	})
	f.etcd.reset()
	f.atMaster.reset()
	f.atOf.reset()
	<-time.After(hour) // what is measured is what happens meanwhile
	requests, bytes, kinds := f.etcd.total()
	master, _, by := f.atMaster.total()
	worker, _, _ := f.atOf.total()
	b.ReportMetric(float64(requests)/tables, "etcd-requests/table/hour")
	b.ReportMetric(float64(bytes)/tables, "etcd-bytes/table/hour")
	b.ReportMetric(float64(requests)/2/60, "etcd-requests/process/min")
	b.ReportMetric(float64(master+worker)/tables, "lake-requests/table/hour")
	b.ReportMetric(0, "ns/op")
	b.Logf("etcd: %v; lake: %v", kinds, by)
}

// BenchmarkFleetStart shows how long it takes from a request to a running execution, with 1,000 tables and a free
// slot: a look at the table, the demand, the claim's own look, the reservation, the start.
func BenchmarkFleetStart(b *testing.B) {
	const tables, sampled, rounds = 1000, 20, 5
	f := newBenchFleet(b, core.Limits{Poll: time.Hour})
	all := f.tables(tables)
	f.open(all)
	var took []time.Duration
	for round := range rounds + 1 {
		for i := range sampled {
			t := all[i*tables/sampled]
			f.generation(t, round+1)
			watch := f.phases(t)
			began := time.Now()
			_, err := f.master.Driver.Merge(b.Context(), t, false)
			f.must(err)
			watch.next(b, core.Running)
			d := time.Since(began)
			watch.over(b)
			watch.close()
			if round > 0 { // the first adopts the table, too
				took = append(took, d)
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(took[len(took)-1].Seconds()*1000, "max-ms")
	b.ReportMetric(0, "ns/op")
}
