import { connect } from "node:net";
import { once } from "node:events";
import { findReachedHost, formatAuthority } from "#daemon/http/address.ts";
import { checkLimits, type InspectedService } from "../inspect-service.ts";
import type { Judgement } from "../finding.ts";
import type { RequestedListener } from "../known-service.ts";

/** Checks that each port is open while its service runs, free while it doesn't, and used by only one listener. */
export async function* checkPorts(
  service: InspectedService,
  all: readonly InspectedService[],
): AsyncGenerator<Judgement> {
  const others = all.flatMap(listListeners);
  const runs = service.configuration?.service === service.service;
  yield* await Promise.all(listListeners(service).map((listener) => checkPort(listener, others, runs)));
}

function listListeners({ settings }: InspectedService): readonly RequestedListener[] {
  // Port 0 means any free port.
  return settings?.ok === true ? settings.facts.listeners.filter(({ port }) => port !== 0) : [];
}

async function checkPort(
  listener: RequestedListener,
  all: readonly RequestedListener[],
  runs: boolean,
): Promise<Judgement> {
  const { port, setting } = listener;
  const host = findReachedHost(listener.host);
  const rival = all.find((one) => one !== listener && one.port === port && findReachedHost(one.host) === host);
  if (rival !== undefined) {
    return ["wrong", `${setting} and ${rival.setting} both use port ${port}; change one of them`];
  }
  const at = `${formatAuthority(host, port)} (${setting})`;
  const state = await testPort(host, port);
  if (state === "unknown") return ["unknown", `${at} neither accepts nor refuses connections`];
  if (runs && state === "open") return ["right", `listens at ${at}`];
  if (runs) {
    return ["wrong", `runs but does not listen at ${at}: its settings changed after it started; restart it`];
  }
  if (state === "free") return ["right", `${at} is free`];
  const fix = `find it with \`ss -ltnp 'sport = :${port}'\` and stop it, or set ${setting} to another port`;
  return ["wrong", `${at} is used by another process; ${fix}`];
}

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
