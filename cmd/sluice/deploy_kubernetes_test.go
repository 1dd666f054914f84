package main_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// kustomization is what ours has of kustomize's file.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string   `json:"namespace"`
	Images          []image  `json:"images"`
	Resources       []string `json:"resources"`
}

type image struct {
	Name    string `json:"name"`
	NewName string `json:"newName"`
	NewTag  string `json:"newTag"`
}

// cluster is what the manifests describe.
type cluster struct {
	kustomization
	pods       map[string]podded // by the name of the Deployment or StatefulSet
	services   map[string]*corev1.Service
	settings   map[string]*corev1.ConfigMap
	secrets    map[string]*corev1.Secret
	accounts   map[string]*corev1.ServiceAccount
	policies   []*networkingv1.NetworkPolicy
	budgets    []*policyv1.PodDisruptionBudget
	namespaces []string
}

// podded is a Deployment or StatefulSet.
type podded struct {
	replicas *int32
	selector *metav1.LabelSelector
	pod      corev1.PodTemplateSpec
	service  string // a StatefulSet's
}

// read decodes every manifest, strictly: a field that Kubernetes doesn't know is an error.
func read(files map[string]string) (c cluster, p problems) {
	c = cluster{
		pods: map[string]podded{}, services: map[string]*corev1.Service{}, settings: map[string]*corev1.ConfigMap{},
		secrets: map[string]*corev1.Secret{}, accounts: map[string]*corev1.ServiceAccount{},
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == "kustomization.yaml" {
			if err := yaml.UnmarshalStrict([]byte(files[name]), &c.kustomization); err != nil {
				p.addf("%s: %v", name, err)
			}
			continue
		}
		for n, document := range strings.Split(files[name], "\n---\n") {
			if err := c.add([]byte(document)); err != nil {
				p.addf("%s, document %d: %v", name, n+1, err)
			}
		}
	}
	for name := range files {
		if name != "kustomization.yaml" && !slices.Contains(c.Resources, name) {
			p.addf("kustomization.yaml does not list %s", name)
		}
	}
	for _, name := range c.Resources {
		if _, ok := files[name]; !ok {
			p.addf("kustomization.yaml lists %s, which isn't there", name)
		}
	}
	if !slices.Equal(c.namespaces, []string{c.Namespace}) {
		p.addf("the namespace is %q, and those made are %q", c.Namespace, c.namespaces)
	}
	return c, p
}

func (c *cluster) add(document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	strictly := func(to any) error { return yaml.UnmarshalStrict(document, to) }
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 Namespace":
		var o corev1.Namespace
		err := strictly(&o)
		c.namespaces = append(c.namespaces, o.Name)
		return err
	case "v1 ConfigMap":
		var o corev1.ConfigMap
		err := strictly(&o)
		c.settings[o.Name] = &o
		return err
	case "v1 Secret":
		var o corev1.Secret
		err := strictly(&o)
		c.secrets[o.Name] = &o
		return err
	case "v1 ServiceAccount":
		var o corev1.ServiceAccount
		err := strictly(&o)
		c.accounts[o.Name] = &o
		return err
	case "v1 Service":
		var o corev1.Service
		err := strictly(&o)
		c.services[o.Name] = &o
		return err
	case "apps/v1 Deployment":
		var o appsv1.Deployment
		err := strictly(&o)
		c.pods[o.Name] = podded{o.Spec.Replicas, o.Spec.Selector, o.Spec.Template, ""}
		return err
	case "apps/v1 StatefulSet":
		var o appsv1.StatefulSet
		err := strictly(&o)
		c.pods[o.Name] = podded{o.Spec.Replicas, o.Spec.Selector, o.Spec.Template, o.Spec.ServiceName}
		return err
	case "policy/v1 PodDisruptionBudget":
		var o policyv1.PodDisruptionBudget
		err := strictly(&o)
		c.budgets = append(c.budgets, &o)
		return err
	case "networking.k8s.io/v1 NetworkPolicy":
		var o networkingv1.NetworkPolicy
		err := strictly(&o)
		c.policies = append(c.policies, &o)
		return err
	}
	return fmt.Errorf("there is no %q", kind.APIVersion+" "+kind.Kind)
}

// selected are the names of what a selector matches.
func (c cluster) selected(s *metav1.LabelSelector) (names []string) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		if !selector.Empty() && selector.Matches(labels.Set(c.pods[name].pod.Labels)) {
			names = append(names, name)
		}
	}
	return names
}

// one is the pods that a selector must match, and no others.
func (c cluster) one(p *problems, what string, s *metav1.LabelSelector) (podded, bool) {
	names := c.selected(s)
	if len(names) != 1 {
		p.addf("%s: its selector matches %v, expected the pods of one", what, names)
		return podded{}, false
	}
	return c.pods[names[0]], true
}

// port is a container's port by its name.
func (d podded) port(name string) (int32, bool) {
	for _, c := range d.pod.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == name {
				return port.ContainerPort, true
			}
		}
	}
	return 0, false
}

// around checks what refers to pods: services, budgets and network policies.
func (c cluster) around(p *problems) {
	for name, s := range c.services {
		d, ok := c.one(p, "service "+name, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		for _, port := range s.Spec.Ports {
			if number, has := d.port(port.TargetPort.StrVal); ok && (!has || number != port.Port) {
				p.addf("service %s: its port %s leads to %d of no container", name, port.TargetPort.StrVal, port.Port)
			}
		}
	}
	covered := map[string]bool{}
	for _, b := range c.budgets {
		c.one(p, "budget "+b.Name, b.Spec.Selector)
		for _, name := range c.selected(b.Spec.Selector) {
			covered["budget "+name] = true
			if replicas := c.pods[name].replicas; replicas == nil || *replicas < 2 {
				p.addf("budget %s: with fewer than two pods no node can be drained", b.Name)
			}
		}
	}
	for _, n := range c.policies {
		d, ok := c.one(p, "policy "+n.Name, &n.Spec.PodSelector)
		for _, name := range c.selected(&n.Spec.PodSelector) {
			covered["policy "+name] = true
		}
		for _, in := range n.Spec.Ingress {
			for _, port := range in.Ports {
				if _, has := d.port(port.Port.StrVal); ok && !has {
					p.addf("policy %s: it opens %s, which is no port of its pods", n.Name, port.Port)
				}
			}
		}
	}
	for name := range c.pods {
		for _, what := range []string{"budget ", "policy "} {
			if !covered[what+name] {
				p.addf("%s has no %s", name, what)
			}
		}
	}
}

func TestTheManifestsFitKubernetesAndTheBinary(t *testing.T) {
	t.Parallel()
	paths := map[string]string{"master": served(t, "master"), "worker": served(t, "worker")}
	check := func(files map[string]string) problems {
		c, p := read(files)
		c.around(&p)
		for _, name := range slices.Sorted(maps.Keys(c.pods)) {
			c.inside(&p, name, paths)
		}
		return p
	}
	wantNoticed(t, deployed(t, "kubernetes"), check, mistakes{
		"a field that Kubernetes doesn't know":    {"worker.yaml", "podManagementPolicy", "podManagementPolizy", "unknown field"},
		"a kind that isn't there":                 {"disruption.yaml", "policy/v1", "policy/v2", "there is no"},
		"a file that isn't listed":                {"kustomization.yaml", "  - network.yaml\n", "", "does not list network.yaml"},
		"a file that isn't there":                 {"kustomization.yaml", "- network.yaml", "- net.yaml", "which isn't there"},
		"an image that isn't named":               {"kustomization.yaml", "name: sluice\n", "name: sluice2\n", "image"},
		"a flag that the binary hasn't":           {"worker.yaml", "--slots=1", "--slotz=1", "unknown flag"},
		"a value that the flag doesn't take":      {"worker.yaml", "--slots=1", "--slots=one", "invalid argument"},
		"a command that the binary hasn't":        {"master.yaml", "- master\n", "- mistress\n", "refuses"},
		"a variable that the binary doesn't read": {"settings.yaml", "MERGE_OWNED_TARGETS", "MERGE_TARGETS", "MERGE_TARGETS"},
		"a variable that isn't set":               {"settings.yaml", "LAKE: ", "LAKES: ", "$(LAKE)"},
		"settings that aren't there":              {"master.yaml", "name: sluice-settings", "name: settings", "sluice-settings"},
		"a secret without the file":               {"secrets.yaml", "ca.crt", "ca.pem", "ca.crt"},
		"a selector of other pods":                {"services.yaml", "component: master", "component: boss", "selector matches []"},
		"a selector of all pods":                  {"disruption.yaml", "\n      app.kubernetes.io/component: master", "", "selector matches [sluice-master sluice-worker]"},
		"a deployment that isn't its pods'":       {"master.yaml", "matchLabels: \\*labels\n  strategy", "matchLabels: {a: b}\n  strategy", "its own pods"},
		"a port of another name":                  {"services.yaml", "targetPort: gate", "targetPort: door", "door"},
		"a policy for a port that isn't there":    {"network.yaml", "port: gate", "port: door", "door"},
		"a probe of a path that isn't served":     {"worker.yaml", "path: /readyz", "path: /ready", "/ready"},
		"a probe of a port that isn't there":      {"master.yaml", "port: http\n", "port: https\n", "https"},
		"a probe without TLS":                     {"master.yaml", "scheme: HTTPS", "scheme: HTTP", "TLS"},
		"a port that nobody listens on":           {"worker.yaml", "--gate=:9000", "--gate=:9001", "9000"},
		"an endpoint that changes":                {"worker.yaml", "--endpoint=\\$\\(POD_NAME\\)", "--endpoint=w", "endpoint"},
		"an address of no service":                {"worker.yaml", "\\$\\(POD_NAME\\).sluice-worker", "$(POD_NAME).worker", "advertise"},
		"no time to end":                          {"worker.yaml", "terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds"},
		"no room for the engine":                  {"worker.yaml", "memory: 6Gi", "memory: 4Gi", "memory"},
		"more slots than memory":                  {"worker.yaml", "--slots=1", "--slots=2", "memory"},
		"nowhere to write":                        {"worker.yaml", "mountPath: /tmp", "mountPath: /scratch", "/tmp"},
		"a volume that isn't there":               {"master.yaml", "- name: scratch", "- name: scratches", "scratch"},
		"a process of root":                       {"worker.yaml", "runAsNonRoot: true", "runAsNonRoot: false", "root"},
		"an account that isn't there":             {"accounts.yaml", "name: sluice-master", "name: sluice-mister", "account"},
		"a fleet of one master":                   {"master.yaml", "replicas: 2", "replicas: 1", "no node can be drained"},
	})
}
