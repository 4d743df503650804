import { expect, it } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { createSettingNames } from "../settings/names.ts";
import { logProxyNotices } from "./proxy-notice.ts";

const plain = { remoteAddress: "10.0.0.1", forwardedFor: undefined, forwarded: undefined };
const forwarded = { ...plain, forwardedFor: "198.51.100.7" };

/** Notices of a gateway with these settings, what they logged, and the clock in milliseconds. */
function notices(proxyProtocol: boolean) {
  const lines: string[] = [];
  const clock = { now: 0 };
  const log = createLog(
    { service: "test", level: "warn" },
    { write: (line) => void lines.push((JSON.parse(line) as { message: string }).message) },
  );
  const names = createSettingNames("sidecar", "gateway");
  const dependencies = { log, settingNames: names, now: () => clock.now };
  return { notice: logProxyNotices({ forwardedHeader: "x-forwarded-for", proxyProtocol }, dependencies), lines, clock };
}

it("reports a proxy that the settings lack, once an hour", () => {
  const { notice, lines, clock } = notices(false);
  notice(false, plain);
  expect(lines).toEqual([]);
  notice(false, forwarded);
  notice(false, { ...plain, forwarded: "for=198.51.100.7" });
  expect(lines).toEqual([
    "10.0.0.1 says whom it serves and is not believed; if it is a proxy of yours, its clients share the limits of one address: add it to gateway.callers.trustedProxies",
  ]);
  clock.now = 3_600_000;
  notice(false, forwarded);
  expect(lines).toHaveLength(2);
});

it("reports a trusted proxy that does not say whom it serves, unless its connections do", () => {
  const { notice, lines } = notices(false);
  notice(true, { ...plain, forwarded: "for=198.51.100.7" });
  expect(lines).toEqual([
    "the trusted proxy 10.0.0.1 sends requests without x-forwarded-for: its clients share the limits of one address; make it send that header, or name the one that it sends in gateway.callers.forwardedHeader",
  ]);
  const reported = notices(true);
  reported.notice(true, plain);
  expect(reported.lines).toEqual([]);
});
