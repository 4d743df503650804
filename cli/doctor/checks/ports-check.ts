import { connect } from "node:net";
import { once } from "node:events";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { checkLimits, type InspectedService } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import type { RequestedListener } from "../known-service.ts";

const createFinding = createFindings("ports");

type Wanted = Readonly<{ listener: RequestedListener; owner: InspectedService }>;

/** Checks that each port is open while its service runs, free while it doesn't, and used by only one service. */
export const portsCheck: Check = async ({ services }) => {
  const wanted = services.flatMap((owner) => {
    const { settings } = owner;
    if (settings === undefined || !settings.ok) return [];
    // Port 0 means any free port.
    return settings.facts.listeners.filter(({ port }) => port !== 0).map((listener) => ({ listener, owner }));
  });
  const found = await Promise.all(wanted.map((one) => checkPort(one, wanted)));
  return found.flat();
};

async function checkPort(one: Wanted, all: readonly Wanted[]): Promise<readonly Finding[]> {
  const { listener, owner } = one;
  const { host, port, setting } = listener;
  const rival = all.find(
    (other) =>
      other !== one && other.listener.port === port && findReachedHost(other.listener.host) === findReachedHost(host),
  )?.listener;
  if (rival !== undefined) {
    return [
      createFinding(
        owner.service,
        "wrong",
        `${setting} and ${rival.setting} both use port ${port}; change one of them`,
      ),
    ];
  }
  const at = formatAuthority(findReachedHost(host), port);
  const state = await testPort(findReachedHost(host), port);
  const runs = owner.configuration?.service === owner.service;
  if (state === "unknown")
    return [createFinding(owner.service, "unknown", `${at} (${setting}) neither accepts nor refuses connections`)];
  if (runs && state === "open") return [createFinding(owner.service, "right", `listens at ${at} (${setting})`)];
  if (runs)
    return [
      createFinding(
        owner.service,
        "wrong",
        `runs but does not listen at ${at} (${setting}): its settings changed after it started; restart it`,
      ),
    ];
  if (state === "free") return [createFinding(owner.service, "right", `${at} (${setting}) is free`)];
  return [
    createFinding(
      owner.service,
      "wrong",
      `${at} (${setting}) is used by another process; find it with \`ss -ltnp 'sport = :${port}'\` and stop it, or set ${setting} to another port`,
    ),
  ];
}

/** Checks whether an address accepts connections. */
async function testPort(host: string, port: number): Promise<"open" | "free" | "unknown"> {
  const socket = connect({ host, port, signal: AbortSignal.timeout(checkLimits.timeoutMs) });
  try {
    await once(socket, "connect");
    return "open";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ECONNREFUSED" ? "free" : "unknown";
  } finally {
    socket.destroy();
  }
}
