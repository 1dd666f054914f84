package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// rule is one line of rules.txt.
type rule struct {
	Name     string
	Package  string
	Tests    string // what -run takes
	Sentence string
}

// matches reports whether a test is one of those that guard the rule.
func (r rule) matches(test string) bool {
	top, _, _ := strings.Cut(test, "/")
	for _, one := range strings.Split(r.Tests, "|") {
		first, _, _ := strings.Cut(one, "/")
		if matched, err := regexp.MatchString(first, top); err == nil && matched {
			return true
		}
	}
	return false
}

// readRules reads the rules and checks that they are exactly the names that the code can leave out: a name
// without a line would never be tried, a line without a name would take out nothing.
func readRules(rulesPath, namesPath string) ([]rule, error) {
	text, err := os.ReadFile(rulesPath)
	if err != nil {
		return nil, err
	}
	rules, err := parseRules(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rulesPath, err)
	}
	source, err := os.ReadFile(namesPath)
	if err != nil {
		return nil, err
	}
	names, err := parseNames(source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", namesPath, err)
	}
	listed := map[string]bool{}
	for _, r := range rules {
		listed[r.Name] = true
		if !names[r.Name] {
			return nil, fmt.Errorf("%s names the rule %s, which is not in %s", rulesPath, r.Name, namesPath)
		}
	}
	for name := range names {
		if !listed[name] {
			return nil, fmt.Errorf("%s has the rule %s, but %s names no test for it", namesPath, name, rulesPath)
		}
	}
	return rules, nil
}

func parseRules(text string) ([]rule, error) {
	var rules []rule
	seen := map[string]bool{}
	for number, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("line %d has %d fields, expected name, package, tests and sentence between tabs", number+1, len(fields))
		}
		r := rule{fields[0], fields[1], fields[2], fields[3]}
		if _, err := regexp.Compile(r.Tests); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		if seen[r.Name] {
			return nil, fmt.Errorf("line %d names %s again", number+1, r.Name)
		}
		seen[r.Name] = true
		rules = append(rules, r)
	}
	return rules, nil
}

// parseNames returns the values of the constants of type Name.
func parseNames(source []byte) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, declaration := range file.Decls {
		constants, ok := declaration.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				literal, ok := value.(*ast.BasicLit)
				if !ok {
					return nil, fmt.Errorf("a name that is not a literal")
				}
				name, err := strconv.Unquote(literal.Value)
				if err != nil {
					return nil, err
				}
				names[name] = true
			}
		}
	}
	return names, nil
}

func choose(rules []rule, only string) ([]rule, error) {
	if only == "" {
		return rules, nil
	}
	for _, r := range rules {
		if r.Name == only {
			return []rule{r}, nil
		}
	}
	return nil, fmt.Errorf("no rule is named %s", only)
}
