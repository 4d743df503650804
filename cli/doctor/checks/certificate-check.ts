import { checkLimits } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import { readPeerCertificate, type PeerCertificate } from "../peer-certificate.ts";

const look = createFindings("certificate");

const dayMs = 86_400_000;

/** Fewer days left are wrong: who renews does so 30 days before the end, and has tried for a week by then. */
const leastDays = 21;

/** Whether clients take the certificate of each public URL, and will for three weeks. No service ends TLS itself, so nothing else sees it. */
export const certificateCheck: Check = async ({ services, publicUrls, clock }) => {
  const sold = services.flatMap(({ settings }) => (settings?.ok === true ? (settings.facts.publicUrl ?? []) : []));
  const origins = [...publicUrls, ...sold].map((url) => new URL(url)).filter(({ protocol }) => protocol === "https:");
  const urls = new Set(origins.map(({ origin }) => origin));
  if (urls.size === 0) {
    return [
      look("public URL", "unasked", "nobody named one; --public https://rpc.example has its certificate looked at"),
    ];
  }
  return (await Promise.all([...urls].map((url) => findingsOf(url, clock)))).flat();
};

async function findingsOf(url: string, clock: () => number): Promise<readonly Finding[]> {
  const { host } = new URL(url);
  const seen = await readPeerCertificate(url, checkLimits.timeoutMs);
  if (!seen.ok) {
    return [
      look(
        host,
        "unknown",
        `${url} shows no certificate (${seen.why}); is it reached from here, and does TLS end there?`,
      ),
    ];
  }
  const wrong = faultsOf(seen.certificate, host, clock());
  if (wrong.length > 0) return wrong.map((message) => look(host, "wrong", message));
  const days = Math.floor((seen.certificate.endsMs - clock()) / dayMs);
  return [look(host, "right", `its certificate holds for ${days} days`)];
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function faultsOf({ beginsMs, endsMs, names, isNamed, untrusted }: PeerCertificate, host: string, nowMs: number) {
  const left = Math.floor((endsMs - nowMs) / dayMs);
  const renew = "renew it where TLS ends; with cert-manager `kubectl describe certificate` says why that was not done";
  return [
    ...(isNamed ? [] : [`its certificate is for ${names}, not for ${host}; have one made for that name`]),
    ...(untrusted === undefined ? [] : [tellDistrust(untrusted)]),
    ...(nowMs < beginsMs ? [`its certificate begins on ${day(beginsMs)} only; look at the clocks`] : []),
    ...(nowMs > endsMs ? [`its certificate ended on ${day(endsMs)}, and no client connects; ${renew}`] : []),
    ...(nowMs <= endsMs && left < leastDays
      ? [`its certificate ends on ${day(endsMs)}, in ${left} days; ${renew}`]
      : []),
  ];
}

function tellDistrust(code: string): string {
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return `clients do not trust who signed its certificate: one above it in the chain is out of its time (${code}); send the chain that its issuer gives out now`;
  }
  return `clients do not trust who signed its certificate (${code}); send the whole chain, or have it signed by an authority that they know (one of your own is named here by NODE_EXTRA_CA_CERTS)`;
}
