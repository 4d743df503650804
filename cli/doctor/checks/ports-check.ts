import { connect } from "node:net";
import { once } from "node:events";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { checkLimits, type InspectedService } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import type { RequestedListener } from "../known-service.ts";

const look = createFindings("ports");

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
      look(owner.service, "wrong", `${setting} and ${rival.setting} both want port ${port}; give one of them another`),
    ];
  }
  const at = formatAuthority(findReachedHost(host), port);
  const state = await testPort(findReachedHost(host), port);
  const runs = owner.configuration?.service === owner.service;
  if (state === "unknown")
    return [look(owner.service, "unknown", `${at} (${setting}) neither takes nor refuses a connection`)];
  if (runs && state === "open") return [look(owner.service, "right", `listens at ${at} (${setting})`)];
  if (runs)
    return [
      look(
        owner.service,
        "wrong",
        `runs, and does not listen at ${at} (${setting}): its settings have changed since it started; restart it`,
      ),
    ];
  if (state === "free") return [look(owner.service, "right", `${at} (${setting}) is free for its start`)];
  return [
    look(
      owner.service,
      "wrong",
      `${at} (${setting}) is taken by something else; \`ss -ltnp 'sport = :${port}'\` names it: stop it, or set ${setting} to another port`,
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
