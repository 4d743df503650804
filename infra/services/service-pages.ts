import { listOperatedServices, findServiceRow } from "#daemon/stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { listHostPorts } from "./host-ports.ts";

/** Services other than Gatehouse's that serve their own page to operators. */
const watchers: ReadonlySet<string> = new Set(["prometheus", "alertmanager", "grafana"]);

/**
 * Lists the pages of a stack, `name=URL`, as reached from an operator's browser: on the loopback ports of a Docker host, or on Kubernetes
 * through `kubectl port-forward` with the services' own ports.
 */
export function listServicePages(config: StackConfig): readonly string[] {
  if (config.target === "kubernetes") return listOperatedServices().map(({ name, port }) => formatPage(name, port));
  return listHostPorts(config)
    .filter(({ service, port }) => findServiceRow(service).operations === port || watchers.has(service))
    .map(({ service, number }) => formatPage(service, number));
}

function formatPage(name: string, port: number): string {
  return `${name}=http://127.0.0.1:${port}/`;
}
