import { isIP } from "node:net";
import type { StackConfig } from "../../config/config-schema.ts";
import { describeInvalid, describeMissing, type ConfigProblem } from "../../config/config-problem.ts";
import { nodePorts } from "./node-layout.ts";
import type { HostAddress } from "../service-spec.ts";

/** Ports that Kubernetes assigns to NodePort Services by default. */
const nodePortRange = { first: 30_000, last: 32_767 } as const;

const defaultNodePort = 30_900;

/**
 * Chooses the TCP port to which peers connect. A node announces the port on which it listens, so both ports are the same: with NodePort,
 * the port must be in the NodePort range.
 */
export function choosePeerPort({ peerPort: given, target, peers }: StackConfig): number {
  return given ?? (target === "kubernetes" && peers === "node-port" ? defaultNodePort : nodePorts.peers);
}

/** Chooses the address that the node announces to its peers: the configured address, or the one that fits the node's exposure. */
export function chooseHostAddress({ hostIp, target, peers }: StackConfig): HostAddress {
  if (hostIp !== undefined) return { kind: "fixed", address: hostIp };
  if (target === "docker" || peers === "load-balancer") return { kind: "fixed", address: "127.0.0.1" };
  return { kind: peers === "none" ? "pod" : "machine" };
}

/**
 * Warns about a peer exposure that weakens the namespace's security; returns `undefined` if it does not. The Pod Security Standards forbid
 * host ports even at `baseline`, and a namespace can't exempt a single pod.
 */
export function findPeerWarning({ target, peers, namespace }: StackConfig): ConfigProblem | undefined {
  if (target !== "kubernetes" || peers !== "host-port") return undefined;
  const key = "peers";
  const message = `found host-port, which Pod Security admission allows only at level privileged, so the namespace ${namespace} admits any pod. Prefer node-port or load-balancer, which keep it at level restricted; otherwise, allow only this Pulumi program to create pods there.`;
  return { key, message };
}

export function findPeerProblems(config: StackConfig): readonly ConfigProblem[] {
  const port = choosePeerPort(config);
  const { first, last } = nodePortRange;
  const taken = Object.entries(nodePorts).find(([name, number]) => name !== "peers" && number === port);
  const outside = config.target === "kubernetes" && config.peers === "node-port" && (port < first || port > last);
  return [
    ...(needsHostIp(config) && config.hostIp === undefined ? [describeMissingHostIp(config)] : []),
    ...findHostNameProblems(config),
    ...(outside
      ? [
          describeInvalid(
            "peerPort",
            `found ${port}; expected a port from ${first} to ${last}, because peers is node-port.`,
          ),
        ]
      : []),
    ...(taken === undefined
      ? []
      : [
          describeInvalid("peerPort", `found ${port}, which is the node's own ${taken[0]} port; expected another one.`),
        ]),
  ];
}

/** Whether the address must be configured in the stack: a container can't determine the address of a Docker host's uplink or of a load balancer. */
function needsHostIp({ target, nodeImage, peers }: StackConfig): boolean {
  return target === "docker" ? nodeImage !== undefined : peers === "load-balancer";
}

/** Reports a host name on Docker, where a container is created once and the address would never be resolved again. */
function findHostNameProblems({ target, hostIp }: StackConfig): readonly ConfigProblem[] {
  if (target !== "docker" || hostIp === undefined || isIP(hostIp) !== 0) return [];
  const wrong = `found ${hostIp}; expected an IP address, because on Docker nothing resolves names when the node starts.`;
  return [describeInvalid("hostIp", wrong)];
}

function describeMissingHostIp({ target }: StackConfig): ConfigProblem {
  const whose = target === "docker" ? "the Docker host" : "the load balancer";
  const wrong = `missing; expected the IP address at which peers reach ${whose}, because the node advertises it to them.`;
  return describeMissing("hostIp", wrong);
}
