import type { PeerCertificate } from "./peer-certificate.ts";

/** Faults of a certificate for clients, now or soon. */
export type CertificateFault = Readonly<{
  reason: "Expired" | "NotYetValid" | "WrongName" | "Untrusted" | "ExpiresSoon";
  /** A clause that begins with what is wrong and ends with what to do. */
  message: string;
}>;

/** By whose clock a certificate is judged, and how long before its end it has to be renewed. */
export type CertificateTimes = Readonly<{ nowMs: number; warnBeforeMs: number }>;

export const dayMs = 86_400_000;

/**
 * Days before a certificate's end from which on it is reported: certbot and cert-manager renew it 30 days before, and
 * have failed for more than a week by then.
 */
export const warnBeforeDays = 21;

/** Lists what is wrong with the certificate that a host showed, worst first. Pure. */
export function findCertificateFaults(
  { beginsMs, endsMs, names, isNamed, untrusted }: PeerCertificate,
  host: string,
  { nowMs, warnBeforeMs }: CertificateTimes,
): readonly CertificateFault[] {
  const leftMs = endsMs - nowMs;
  const renew = "renew it where TLS ends; with cert-manager `kubectl describe certificate` says why that was not done";
  const faults: readonly (CertificateFault | false)[] = [
    leftMs < 0 && {
      reason: "Expired",
      message: `its certificate ended on ${formatDay(endsMs)}, and no client connects; ${renew}`,
    },
    nowMs < beginsMs && {
      reason: "NotYetValid",
      message: `its certificate begins on ${formatDay(beginsMs)} only; look at the clocks`,
    },
    !isNamed && {
      reason: "WrongName",
      message: `its certificate is for ${names}, not for ${host}; have one made for that name`,
    },
    untrusted !== undefined && { reason: "Untrusted", message: describeDistrust(untrusted) },
    leftMs >= 0 &&
      leftMs < warnBeforeMs && {
        reason: "ExpiresSoon",
        message: `its certificate ends on ${formatDay(endsMs)}, in ${Math.floor(leftMs / dayMs)} days; ${renew}`,
      },
  ];
  return faults.filter((fault) => fault !== false);
}

function formatDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function describeDistrust(code: string): string {
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return `clients do not trust who signed its certificate: one above it in the chain is out of its time (${code}); send the chain that its issuer gives out now`;
  }
  return `clients do not trust who signed its certificate (${code}); send the whole chain, or have it signed by an authority that they know (your own authority is named here by NODE_EXTRA_CA_CERTS)`;
}
