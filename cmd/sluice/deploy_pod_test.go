package main_test

import (
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	main "github.com/sluice-data/sluice/cmd/sluice"

	"github.com/sluice-data/sluice/adapters/engine"
)

var reference = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// inside checks the pods of one Deployment or StatefulSet.
func (c cluster) inside(p *problems, name string, served map[string]string) {
	d := c.pods[name]
	spec := d.pod.Spec
	if names := c.selected(d.selector); !slices.Equal(names, []string{name}) {
		p.addf("%s: its selector matches %v, not its own pods", name, names)
	}
	if c.accounts[spec.ServiceAccountName] == nil {
		p.addf("%s: there is no account %s", name, spec.ServiceAccountName)
	}
	if grace := spec.TerminationGracePeriodSeconds; grace == nil || time.Duration(*grace)*time.Second < main.Patience+15*time.Second {
		p.addf("%s: terminationGracePeriodSeconds is too short for a drain of %v", name, main.Patience)
	}
	if s := spec.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 {
		p.addf("%s: it may run as root", name)
	}
	for _, container := range spec.Containers {
		if !slices.ContainsFunc(c.Images, func(i image) bool { return i.Name == container.Image }) {
			p.addf("%s: kustomization.yaml knows no image %s", name, container.Image)
		}
		variables := c.variables(p, name, container)
		var args []string
		for _, arg := range container.Args {
			args = append(args, reference.ReplaceAllStringFunc(arg, func(r string) string {
				if value, ok := variables[r[2:len(r)-1]]; ok {
					return value
				}
				p.addf("%s: %s is not set", name, r)
				return r
			}))
		}
		flags := p.commandLine(name, args)
		c.network(p, name, container, args, flags)
		c.probes(p, name, container, flags, served)
		c.files(p, name, spec, container, flags)
		room(p, name, container, flags)
	}
}

// variables are those that a container is given. One that nobody reads is a mistake.
func (c cluster) variables(p *problems, name string, container corev1.Container) map[string]string {
	used := strings.Join(container.Args, " ")
	out := map[string]string{}
	add := func(variable, value string) {
		out[variable] = value
		if !knownVariable(variable) && !strings.Contains(used, "$("+variable+")") {
			p.addf("%s: nobody reads the variable %s", name, variable)
		}
	}
	for _, from := range container.EnvFrom {
		switch {
		case from.ConfigMapRef != nil && c.settings[from.ConfigMapRef.Name] != nil:
			for variable, value := range c.settings[from.ConfigMapRef.Name].Data {
				add(variable, value)
			}
		case from.SecretRef != nil && c.secrets[from.SecretRef.Name] != nil:
			for variable, value := range c.secrets[from.SecretRef.Name].StringData {
				add(variable, value)
			}
		default:
			p.addf("%s: its variables come from nowhere: not from sluice-settings or a secret: %+v", name, from)
		}
	}
	for _, e := range container.Env {
		value := e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			value = map[string]string{"metadata.name": name + "-0", "metadata.namespace": c.Namespace}[e.ValueFrom.FieldRef.FieldPath]
		}
		if value == "" {
			p.addf("%s: the variable %s is empty", name, e.Name)
		}
		add(e.Name, value)
	}
	return out
}

// network checks that the ports are those that the binary listens on, and that others find it by its name.
func (c cluster) network(p *problems, name string, container corev1.Container, args []string, flags map[string]string) {
	for _, port := range container.Ports {
		_, listens, err := net.SplitHostPort(flags[port.Name]) // the flags --http and --gate
		if err != nil || listens != strconv.Itoa(int(port.ContainerPort)) {
			p.addf("%s: nobody listens on its port %s, %d", name, port.Name, port.ContainerPort)
		}
	}
	u, err := url.Parse(flags["advertise"])
	if err != nil {
		p.addf("%s: advertise: %v", name, err)
		return
	}
	service, pod := c.services[name], ""
	if c.pods[name].service != "" {
		service, pod = c.services[c.pods[name].service], name+"-0."
		if service == nil || service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses {
			p.addf("%s: its service gives its pods no names from their start on", name)
		}
		if flags["endpoint"] != name+"-0" {
			p.addf("%s: its endpoint is %q, not its pod's name", name, flags["endpoint"])
		}
	} else if flags["id"] != name+"-0" {
		p.addf("%s: two pods have the id %q", name, flags["id"])
	}
	if service == nil || u.Hostname() != pod+service.Name+"."+c.Namespace+".svc" || u.Scheme != "https" || ":"+u.Port() != flags["http"] {
		p.addf("%s: advertise: %s %v leads to no service of its own", name, u, args[0])
	}
}

// probes checks that what Kubernetes asks is there.
func (c cluster) probes(p *problems, name string, container corev1.Container, flags, served map[string]string) {
	for kind, probe := range map[string]*corev1.Probe{"startup": container.StartupProbe, "liveness": container.LivenessProbe, "readiness": container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil {
			p.addf("%s: it has no %s probe", name, kind)
			continue
		}
		get := probe.HTTPGet
		if !strings.Contains(served[container.Name], `"`+get.Path+`"`) {
			p.addf("%s: the %s probe asks for %s, which a %s doesn't serve", name, kind, get.Path, container.Name)
		}
		if _, ok := c.pods[name].port(get.Port.StrVal); !ok || get.Port.StrVal != "http" {
			p.addf("%s: the %s probe asks at %s, which is no port of the API", name, kind, get.Port.StrVal)
		}
		if (get.Scheme == corev1.URISchemeHTTPS) != (flags["tls-cert"] != "") {
			p.addf("%s: the %s probe and the API don't agree on TLS", name, kind)
		}
		if ready := get.Path == "/readyz"; ready != (kind == "readiness") {
			p.addf("%s: the %s probe asks for %s: a process that waits for etcd lives and is not ready", name, kind, get.Path)
		}
	}
}

// files checks that each file on the command line is one of a secret that is mounted there.
func (c cluster) files(p *problems, name string, spec corev1.PodSpec, container corev1.Container, flags map[string]string) {
	mounted := map[string]bool{}
	for _, m := range container.VolumeMounts {
		i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			p.addf("%s: there is no volume %s", name, m.Name)
			continue
		}
		mounted[m.MountPath] = true
		secret := spec.Volumes[i].Secret
		if secret == nil {
			continue
		}
		if c.secrets[secret.SecretName] == nil {
			p.addf("%s: there is no secret %s", name, secret.SecretName)
			continue
		}
		for key := range c.secrets[secret.SecretName].StringData {
			mounted[path.Join(m.MountPath, key)] = true
		}
	}
	for flag, value := range flags {
		if strings.HasPrefix(value, "/") && flag != "etcd-prefix" && !mounted[value] {
			p.addf("%s: --%s names %s, which is not mounted", name, flag, value)
		}
	}
	s := container.SecurityContext
	if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
		s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		p.addf("%s: it may do more than it needs", name)
	}
	if !mounted["/tmp"] {
		p.addf("%s: its file system is read-only and it has no /tmp", name)
	}
}

// room checks that a worker's memory is enough for its engines and a gibibyte of its own.
func room(p *problems, name string, container corev1.Container, flags map[string]string) {
	limit, ok := container.Resources.Limits[corev1.ResourceMemory]
	if !ok || container.Resources.Requests.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
		p.addf("%s: it says not what it needs", name)
	}
	if slots, err := strconv.ParseInt(flags["slots"], 10, 64); err == nil && limit.Value() < slots*int64(engine.DefaultMemory)+1<<30 {
		p.addf("%s: a memory of %s is too small for %d engines of %d bytes and the worker", name, limit.String(), slots, engine.DefaultMemory)
	}
}
