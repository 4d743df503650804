import { isLoopback, readUrlHost } from "#daemon/http/address.ts";
import { stackServices } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { Addresses } from "./stack-context.ts";
import { describeInvalid, describeProblem, removeKey, type ConfigProblem } from "../config/config-problem.ts";
import type { Edge } from "./service-spec.ts";
import { deriveEdge } from "./upstream-edges.ts";

/** Push target for the node's metrics, and the connection by which the node and its sidecar reach it. */
export type PushTarget = Readonly<{
  /** Host name or IP address in the form used in `monitor_config`: without a protocol (specification, "monitor_config keys"). */
  host: string;
  port: number;
  edge: Edge;
}>;

/** Returns the Pushgateway that a stack uses: its own, or the operator's at `pushgatewayUrl`. */
export function findPushTarget({ pushgatewayUrl }: StackConfig, addresses: Addresses): PushTarget {
  if (pushgatewayUrl === undefined) {
    return {
      host: addresses.pushgateway,
      port: stackServices.pushgateway.ports.http,
      edge: { to: "pushgateway", port: "http" },
    };
  }
  return { ...parseHostAndPort(pushgatewayUrl), edge: deriveEdge(new URL(pushgatewayUrl)) };
}

export function findPushgatewayProblems({ pushgatewayImage, pushgatewayUrl }: StackConfig): readonly ConfigProblem[] {
  if (pushgatewayUrl === undefined) return [];
  const problems: ConfigProblem[] = [];
  if (pushgatewayImage !== undefined) {
    const wrong = "found together with pushgatewayUrl, which disables the stack's own Pushgateway.";
    problems.push(describeProblem("pushgatewayImage", wrong, "Remove one of the two", removeKey(), "."));
  }
  const { username, password, pathname, search } = new URL(pushgatewayUrl);
  const more = username !== "" || password !== "" || pathname !== "/" || search !== "";
  const key = "pushgatewayUrl";
  const example = { value: "http://host:9091" };
  if (more) {
    const wrong = "found more than a host and a port; the node supports only these, no path or password.";
    problems.push(describeInvalid(key, wrong, example));
  }
  if (isOwnHost(parseHostAndPort(pushgatewayUrl).host)) {
    const wrong = `found ${pushgatewayUrl}, which inside the node's container is the container itself; use the address of the Pushgateway's machine.`;
    problems.push(describeInvalid(key, wrong, example));
  }
  return problems;
}

/** Whether a connection to this host stays within its own container, as connections to the unspecified address do. */
function isOwnHost(host: string): boolean {
  return isLoopback(host) || host === "0.0.0.0" || host === "::";
}

const httpPort = 80;

function parseHostAndPort(url: string): Readonly<{ host: string; port: number }> {
  const parsed = new URL(url);
  return { host: readUrlHost(parsed), port: parsed.port === "" ? httpPort : Number(parsed.port) };
}
