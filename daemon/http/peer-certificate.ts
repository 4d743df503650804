import { once } from "node:events";
import { isIP } from "node:net";
import { checkServerIdentity, connect, type TLSSocket } from "node:tls";
import { lookupName } from "./name-lookup.ts";
import { requestFailureCode } from "./send-request.ts";

/** The certificate that a server shows, and what a client has against it. */
export type PeerCertificate = Readonly<{
  beginsMs: number;
  endsMs: number;
  /** The names that it is for, as OpenSSL writes them. */
  names: string;
  /** Whether it is for the name that was requested. */
  isNamed: boolean;
  /**
   * OpenSSL's code for why clients do not trust whoever signed it; undefined if they do. Its own dates and name are
   * judged apart; those of a certificate above it are not.
   */
  untrusted: string | undefined;
}>;

/** A certificate, or in a few words why none was seen. */
export type SeenCertificate = Readonly<{ ok: true; certificate: PeerCertificate } | { ok: false; why: string }>;

/** Looks at the certificate that the server of an `https` URL shows; sends nothing after the handshake. Never throws. */
export async function readPeerCertificate(
  url: string,
  { timeoutMs, signal: stop }: Readonly<{ timeoutMs: number; signal?: AbortSignal }>,
): Promise<SeenCertificate> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const over = AbortSignal.timeout(timeoutMs);
  const signal = stop === undefined ? over : AbortSignal.any([over, stop]);
  const socket = connect({
    host,
    port: Number(port || 443),
    lookup: lookupName,
    // A wrong certificate is to be looked at, too; nothing is sent to whoever shows it.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 ? { servername: host } : {}),
  });
  try {
    await once(socket, "secureConnect", { signal });
    return { ok: true, certificate: judgeCertificate(socket, host) };
  } catch (error) {
    return { ok: false, why: over.aborted ? `no handshake within ${timeoutMs} ms` : requestFailureCode(error) };
  } finally {
    socket.destroy();
  }
}

function judgeCertificate(socket: TLSSocket, host: string): PeerCertificate {
  const certificate = socket.getPeerCertificate();
  // An error with a code, or the code alone, whatever the types say.
  const refusal: unknown = socket.authorizationError ?? undefined;
  const code = refusal instanceof Error && "code" in refusal ? String(refusal.code) : refusal?.toString();
  const dates = { beginsMs: Date.parse(certificate.valid_from), endsMs: Date.parse(certificate.valid_to) };
  return {
    ...dates,
    names: certificate.subjectaltname ?? "no name",
    isNamed: checkServerIdentity(host, certificate) === undefined,
    untrusted: code === undefined || isOwnFault(code, dates) ? undefined : code,
  };
}

/**
 * Whether its own time or name is what was refused. OpenSSL gives the same codes for a certificate above it; its own
 * dates decide, by the machine's clock, as OpenSSL judges.
 */
function isOwnFault(code: string, { beginsMs, endsMs }: Pick<PeerCertificate, "beginsMs" | "endsMs">): boolean {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return endsMs <= Date.now();
    case "CERT_NOT_YET_VALID":
      return beginsMs > Date.now();
    default:
      return code === "ERR_TLS_CERT_ALTNAME_INVALID";
  }
}
