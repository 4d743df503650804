import { findFreePorts } from "#daemon/testing/free-ports.ts";

/** The ports that a stack on Docker publishes on its host, by the stack's configuration keys. */
export type HostPorts = Readonly<
  Record<
    | "gatewayPort"
    | "privateGatewayPort"
    | "resourceServerPort"
    | "resourceServerOperationsPort"
    | "statusPort"
    | "pushgatewayPort",
    number
  >
>;

/** Currently unused ports, one per key. */
export async function findFreeHostPorts(): Promise<HostPorts> {
  const [gatewayPort = 0, privateGatewayPort = 0, resourceServerPort = 0, ...operations] = await findFreePorts(6);
  const [resourceServerOperationsPort = 0, statusPort = 0, pushgatewayPort = 0] = operations;
  const published = { gatewayPort, privateGatewayPort, resourceServerPort, resourceServerOperationsPort };
  return { ...published, statusPort, pushgatewayPort };
}

/** Returns the ports in the form of a stack's configuration. */
export function asConfig(ports: HostPorts): Record<keyof HostPorts, string> {
  return Object.fromEntries(Object.entries(ports).map(([key, port]) => [key, String(port)])) as Record<
    keyof HostPorts,
    string
  >;
}
