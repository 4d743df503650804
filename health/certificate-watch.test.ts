import { expect, test } from "vitest";
import type { PeerCertificate } from "#daemon/http/peer-certificate.ts";
import { judgeCertificates, type CertificateLook } from "./certificate-watch.ts";

const dayMs = 86_400_000;
const nowMs = Date.UTC(2027, 0, 1);
const times = { nowMs, warnBeforeMs: 21 * dayMs };

function seen(origin: string, daysLeft: number, more: Partial<PeerCertificate> = {}): CertificateLook {
  const good = { beginsMs: nowMs - dayMs, endsMs: nowMs + daysLeft * dayMs, isNamed: true, untrusted: undefined };
  return { origin, seen: { ok: true, certificate: { ...good, names: "DNS:rpc.example", ...more } } };
}

const unseen: CertificateLook = { origin: "https://shop.example", seen: { ok: false, why: "ECONNREFUSED" } };

test("certificates that hold are reported with the days that are left", () => {
  expect(judgeCertificates([seen("https://rpc.example", 60), seen("https://shop.example", 21)], times)).toEqual({
    type: "CertificateValid",
    status: "True",
    reason: "Valid",
    message: "Certificates hold: https://rpc.example for 60 days, https://shop.example for 21 days.",
  });
});

test("the worst of all that is wrong is the reason, and the message names each with its URL", () => {
  const distrusted = { untrusted: "DEPTH_ZERO_SELF_SIGNED_CERT" };
  const looks = [seen("https://rpc.example", 20), seen("https://shop.example:8443", -1, distrusted), unseen];
  const reported = judgeCertificates(looks, times);
  expect(reported).toMatchObject({ status: "False", reason: "Expired" });
  expect(reported.message).toMatch(
    /^https:\/\/rpc\.example: its certificate ends on 2027-01-21, in 20 days; .*https:\/\/shop\.example:8443: its certificate ended on 2026-12-31, .*DEPTH_ZERO.*https:\/\/shop\.example shows no certificate \(ECONNREFUSED\)/,
  );
});

test.each([
  ["NotYetValid", { beginsMs: nowMs + dayMs }],
  ["WrongName", { isNamed: false }],
  ["Untrusted", { untrusted: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }],
] as const)("%s", (reason, more) => {
  expect(judgeCertificates([seen("https://rpc.example", 60, more)], times)).toMatchObject({ status: "False", reason });
});

test("one that is not seen is not known, though the others hold", () => {
  expect(judgeCertificates([seen("https://rpc.example", 60), unseen], times)).toEqual({
    type: "CertificateValid",
    status: "Unknown",
    reason: "NotSeen",
    message:
      "https://shop.example shows no certificate (ECONNREFUSED): see whether it is reached from here, and whether TLS ends there.",
  });
});
