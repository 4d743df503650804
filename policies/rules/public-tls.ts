import { cloudCertificates } from "../cloud-certificates.ts";
import type { PolicyResource, ResourceRule } from "../rule.ts";
import { readFields, readItems, readText } from "../values.ts";
import { findWorkload } from "../workload-of.ts";

export const publicTls: ResourceRule = {
  scope: "resource",
  name: "public-tls",
  severity: "high",
  why: "A payment's signature is as good as money in transit, and the facilitator spends the signer's gas.",
  remedy:
    "Give the Ingress or Gateway a certificate for every host; reach the facilitator from the resource server only.",
  check: (resource) => [
    ...checkIngress(resource),
    ...checkGateway(resource),
    ...checkRoute(resource),
    ...checkFacilitator(resource),
  ],
};

function checkIngress({ type, props }: PolicyResource): readonly string[] {
  if (type !== "kubernetes:networking.k8s.io/v1:Ingress") return [];
  const spec = readFields(props["spec"]);
  const secured = new Set(
    readItems(spec["tls"]).flatMap((tls) => {
      const { hosts, secretName } = readFields(tls);
      return readText(secretName) === undefined ? [] : readItems(hosts).map(String);
    }),
  );
  const rules = readItems(spec["rules"]).map(readFields);
  return [
    ...(rules.length === 0 ? ["has no rule with a host"] : []),
    ...rules
      .map((rule) => readText(rule["host"]) ?? "*")
      .filter((host) => !secured.has(host) && !hasCloudCertificate(props))
      .map((host) => `serves ${host} without TLS`),
    ...rules
      .flatMap((rule) => readItems(readFields(rule["http"])["paths"]))
      .filter((path) =>
        /facilitator/.test(readText(readFields(readFields(readFields(path)["backend"])["service"])["name"]) ?? ""),
      )
      .map(() => "makes the facilitator public"),
  ];
}

/** Returns whether a cloud load balancer has the certificates. GKE's also serves plain HTTP unless that is disabled. */
function hasCloudCertificate(props: PolicyResource["props"]): boolean {
  const annotations = readFields(readFields(props["metadata"])["annotations"]);
  const found = cloudCertificates.filter((name) => readText(annotations[name]) !== undefined);
  const isGoogle = found.some((name) => !name.startsWith("alb."));
  return found.length > 0 && (!isGoogle || readText(annotations["kubernetes.io/ingress.allow-http"]) === "false");
}

function checkGateway({ type, props }: PolicyResource): readonly string[] {
  if (!/^kubernetes:gateway\.networking\.k8s\.io\/v1(beta1)?:Gateway$/.test(type)) return [];
  return readItems(readFields(props["spec"])["listeners"])
    .map(readFields)
    .filter(({ protocol }) => protocol !== "HTTPS" && protocol !== "TLS")
    .map(({ name }) => `has the listener ${readText(name) ?? "unnamed"} without TLS`);
}

/** Checks a route. A route without a listener name is served by every listener on its Gateway, including those without TLS. */
function checkRoute({ type, props }: PolicyResource): readonly string[] {
  if (!/^kubernetes:gateway\.networking\.k8s\.io\/v1(beta1)?:HTTPRoute$/.test(type)) return [];
  const spec = readFields(props["spec"]);
  const parents = readItems(spec["parentRefs"]).map(readFields);
  const backends = readItems(spec["rules"]).flatMap((rule) =>
    readItems(readFields(rule)["backendRefs"]).map(readFields),
  );
  return [
    ...parents
      .filter(({ sectionName }) => readText(sectionName) === undefined)
      .map(
        ({ name }) =>
          `specifies no listener of the Gateway ${readText(name) ?? "unnamed"}, so it is also served without TLS`,
      ),
    ...backends
      .filter(({ name }) => /facilitator/.test(readText(name) ?? ""))
      .map(() => "makes the facilitator public"),
  ];
}

function checkFacilitator(resource: PolicyResource): readonly string[] {
  const workload = findWorkload(resource);
  if (workload?.kind === "docker" && workload.service() === "facilitator") {
    const ports = workload.containers().flatMap((container) => container.exposed());
    return ports.length === 0 ? [] : ["publishes the facilitator on the host"];
  }
  if (resource.type !== "kubernetes:core/v1:Service") return [];
  const { selector, type } = readFields(readFields(resource.props)["spec"]);
  const serves = readFields(selector)["app.kubernetes.io/component"] === "facilitator";
  return serves && (type === "LoadBalancer" || type === "NodePort") ? ["makes the facilitator public"] : [];
}
