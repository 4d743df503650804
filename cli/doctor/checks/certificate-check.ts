import { dayMs, findCertificateFaults, warnBeforeDays } from "#daemon/http/certificate-faults.ts";
import { readPeerCertificate } from "#daemon/http/peer-certificate.ts";
import { checkLimits } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";

const look = createFindings("certificate");

/** Checks that clients accept the certificate of each public URL, and will for three weeks. No service terminates TLS itself. */
export const certificateCheck: Check = async ({ services, publicUrls, clock }) => {
  const sold = services.flatMap(({ settings }) => (settings?.ok === true ? (settings.facts.publicUrl ?? []) : []));
  const origins = [...publicUrls, ...sold].map((url) => new URL(url)).filter(({ protocol }) => protocol === "https:");
  const urls = new Set(origins.map(({ origin }) => origin));
  if (urls.size === 0) {
    return [
      look("public URL", "skipped", "nobody named one; --public https://rpc.example has its certificate looked at"),
    ];
  }
  return (await Promise.all([...urls].map((url) => checkCertificate(url, clock)))).flat();
};

async function checkCertificate(url: string, clock: () => number): Promise<readonly Finding[]> {
  const { host } = new URL(url);
  const seen = await readPeerCertificate(url, checkLimits);
  if (!seen.ok) {
    return [
      look(
        host,
        "unknown",
        `${url} shows no certificate (${seen.why}); is it reached from here, and does TLS end there?`,
      ),
    ];
  }
  const times = { nowMs: clock(), warnBeforeMs: warnBeforeDays * dayMs };
  const wrong = findCertificateFaults(seen.certificate, host, times);
  if (wrong.length > 0) return wrong.map(({ message }) => look(host, "wrong", message));
  const days = Math.floor((seen.certificate.endsMs - clock()) / dayMs);
  return [look(host, "right", `its certificate holds for ${days} days`)];
}
