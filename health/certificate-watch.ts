import { Gauge, type Registry } from "prom-client";
import type { z } from "zod";
import type { Clock } from "#daemon/clock.ts";
import { dayMs, findCertificateFaults, type CertificateFault } from "#daemon/http/certificate-faults.ts";
import { readPeerCertificate, type SeenCertificate } from "#daemon/http/peer-certificate.ts";
import type { Logger } from "#daemon/log/log.ts";
import { poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { reportFailedLook, type WatchedLook } from "#status/failed-look.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { certificateSection } from "./settings.ts";

export type WatchedCertificates = z.output<typeof certificateSection>;

export type CertificateWatchDependencies = Readonly<{
  board: ConditionBoard;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

/** Certificate that the server of one origin showed, or why none was seen. */
export type CertificateLook = Readonly<{ origin: string; seen: SeenCertificate }>;

/** Time until a server that showed no certificate is looked at again: a proxy that restarts is no reason to wait an hour. */
const unseenAgainMs = 60_000;

const watchedLook: WatchedLook = { what: "The look at the certificates", types: ["CertificateValid"] };

/**
 * Looks again and again at the certificates that clients see at public URLs. No service ends TLS itself, so the proxy or Ingress that does
 * is read from outside, as a client would. Nothing is watched where no URL is set. Disposing of it ends the watch.
 */
export function watchCertificates(
  { urls, intervalMs, timeoutMs, warnBeforeDays }: WatchedCertificates,
  { board, metrics, clock, log }: CertificateWatchDependencies,
): AsyncDisposable {
  const origins = [...new Set(urls.map((url) => new URL(url).origin))];
  if (origins.length === 0) return { [Symbol.asyncDispose]: async () => undefined };
  const ends = new Gauge({
    name: "gatehouse_certificate_not_after_timestamp_seconds",
    help: "End of the certificate that the server of a public URL shows, seconds since 1970; absent while it shows none.",
    labelNames: ["url"],
    registers: [metrics],
  });
  const stopping = new AbortController();
  const { signal } = stopping;
  const lastLooks = new Map<string, Readonly<{ look: CertificateLook; dueMs: number; failures: number }>>();
  const lookAt = async (origin: string) => {
    const last = lastLooks.get(origin);
    if (last !== undefined && clock.monotonicMs() < last.dueMs) return;
    const seen = await readPeerCertificate(origin, { timeoutMs, signal });
    if (signal.aborted) return;
    const failures = seen.ok ? 0 : (last?.failures ?? 0) + 1;
    // A proxy that is reloaded shows none for a moment: what was seen before holds until it shows none twice.
    const look = failures === 1 && last !== undefined ? last.look : { origin, seen };
    if (look.seen.ok) ends.set({ url: origin }, look.seen.certificate.endsMs / 1_000);
    else ends.remove({ url: origin });
    const dueMs = clock.monotonicMs() + (seen.ok ? intervalMs : Math.min(intervalMs, unseenAgainMs));
    lastLooks.set(origin, { look, dueMs, failures });
  };
  const look = async () => {
    await Promise.all(origins.map(lookAt));
    if (signal.aborted) return;
    const looks = [...lastLooks.values()].map(({ look: last }) => last);
    board.set(judgeCertificates(looks, { nowMs: clock.wallMs(), warnBeforeMs: warnBeforeDays * dayMs }));
  };
  const failed = (error: unknown) => reportFailedLook(watchedLook, error, board);
  const options = { name: "certificates", failed, intervalMs: Math.min(intervalMs, unseenAgainMs), signal };
  const watching = poll(options, look, { log });
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await watching;
    },
  };
}

/** The reasons for which a certificate is wrong, worst first: the condition has the worst of all URLs. */
const severity: readonly CertificateFault["reason"][] = [
  "Expired",
  "NotYetValid",
  "WrongName",
  "Untrusted",
  "ExpiresSoon",
];

/** Judges what was seen at one URL at least. Pure. */
export function judgeCertificates(
  looks: readonly CertificateLook[],
  times: Readonly<{ nowMs: number; warnBeforeMs: number }>,
): ConditionReport<"CertificateValid"> {
  const type = "CertificateValid";
  const faults = looks.flatMap(({ origin, seen }) =>
    seen.ok
      ? findCertificateFaults(seen.certificate, new URL(origin).host, times).map((fault) => ({ origin, fault }))
      : [],
  );
  const reason = severity.find((one) => faults.some(({ fault }) => fault.reason === one));
  const unseen = looks.flatMap(({ origin, seen }) =>
    seen.ok
      ? []
      : [
          `${origin} shows no certificate (${seen.why}): see whether it is reached from here, and whether TLS ends there.`,
        ],
  );
  if (reason !== undefined) {
    const wrong = faults.map(({ origin, fault }) => `${origin}: ${fault.message}.`);
    return { type, status: "False", reason, message: [...wrong, ...unseen].join(" ") };
  }
  if (unseen.length > 0) return { type, status: "Unknown", reason: "NotSeen", message: unseen.join(" ") };
  const days = looks.map(({ origin, seen }) =>
    seen.ok ? `${origin} for ${Math.floor((seen.certificate.endsMs - times.nowMs) / dayMs)} days` : origin,
  );
  return { type, status: "True", reason: "Valid", message: `Certificates hold: ${days.join(", ")}.` };
}
