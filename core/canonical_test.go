package core

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slowly is what encoding/json makes of a text, in the strict way in which records are read.
func slowly[R any](text string) (r R, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&r)
	return r, err
}

// text draws strings that stand for themselves, and some that don't.
func text(t *rapid.T) string {
	return rapid.OneOf(rapid.StringMatching(`[a-z0-9/_ .-]{0,9}`), rapid.SampledFrom([]string{"a\"b", "<&>", "é", "\x01", "\\", "\u2028", "\xff", "null"})).Draw(t, "text")
}

// fill draws a value of any type that a record has.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(t))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Uint64:
		v.SetUint(rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "uint"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, "int"))
	case reflect.Slice:
		if n := rapid.IntRange(-1, 3).Draw(t, "length"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i))
			}
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	}
}

// spoil changes a text a little, so that it may be no record any more, or one that somebody else has written.
func spoil(t *rapid.T, text string) string {
	i := rapid.IntRange(0, len(text)).Draw(t, "at")
	piece := rapid.SampledFrom([]string{"", " ", ",", "0", "-", "1", "null", `"`, "{}", "}", "]", "\\u0041", `"new":1,`, "9999999999999999999", "true", "."}).Draw(t, "piece")
	end := min(len(text), i+rapid.IntRange(0, 4).Draw(t, "over"))
	return text[:i] + piece + text[end:]
}

// sameAsJSON holds both directions for one type of records to encoding/json.
func sameAsJSON[R any](t *testing.T) {
	t.Run(reflect.TypeFor[R]().Name(), func(t *testing.T) {
		t.Parallel()
		if layouts[reflect.TypeFor[R]()] == nil {
			t.Fatal("it has no layout, and is read the slow way")
		}
		rapid.Check(t, func(t *rapid.T) {
			var r R
			fill(t, reflect.ValueOf(&r).Elem())
			want, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := Encode(r); got != string(want) {
				t.Fatalf("encoded as\n%s\nencoding/json writes\n%s", got, want)
			}
			for _, text := range []string{string(want), spoil(t, string(want))} {
				var got R
				if !readCanonical(text, &got) {
					continue
				}
				if slow, err := slowly[R](text); err != nil || !reflect.DeepEqual(got, slow) {
					t.Fatalf("%s\nis read as\n%+v\nencoding/json reads\n%+v (%v)", text, got, slow, err)
				}
			}
		})
	})
}

func TestRecordsReadAndWriteAsEncodingJSONWould(t *testing.T) {
	t.Parallel()
	sameAsJSON[KVRecord](t)
	sameAsJSON[TableRecord](t)
	sameAsJSON[ExecutionID](t)
	sameAsJSON[Execution](t)
	sameAsJSON[Watermarks](t)
	sameAsJSON[Progress](t)
	sameAsJSON[Demand](t)
	sameAsJSON[Latch](t)
	sameAsJSON[Policy](t)
	sameAsJSON[FailureRecord](t)
	sameAsJSON[MasterRecord](t)
	sameAsJSON[WorkerRecord](t)
	sameAsJSON[Load](t)
	sameAsJSON[History](t)
	sameAsJSON[Takeover](t)
}

// A record of plain text takes the fast way: otherwise the two ways agree because there is only one.
func TestPlainRecordsTakeTheFastWay(t *testing.T) {
	t.Parallel()
	e := Execution{
		ID: "e1", Number: 7, Target: "db/events", Kind: KindMerge, Phase: Running, Shards: []ShardID{"s1", "s2"}, Bytes: Unmeasured,
		Plan: []ShardPlan{{Shard: "s1", First: 1, Last: 3}}, End: &Failure{Code: CodeStorage, Detail: "no answer from the lake"},
	}
	text, ok := canonicalText(e)
	if !ok {
		t.Fatal("it is not written the fast way")
	}
	var back Execution
	if !readCanonical(text, &back) || !reflect.DeepEqual(back, e) {
		t.Errorf("%s is read as %+v", text, back)
	}
	for name, text := range map[string]string{
		"a field that nobody knows": `{"mode":"owned","by":"m1","at_ms":1,"new":2}`, "a space": `{"mode":"owned", "by":"m1","at_ms":1}`,
		"more after the end": `{"mode":"owned","by":"m1","at_ms":1}{}`, "a fraction": `{"mode":"owned","by":"m1","at_ms":1.5}`,
		"a field that is missing": `{"mode":"owned","by":"m1"}`,
	} {
		var none Latch
		if readCanonical(text, &none) || none != (Latch{}) {
			t.Errorf("%s: %s is for encoding/json to judge, and left %+v", name, text, none)
		}
	}
}
