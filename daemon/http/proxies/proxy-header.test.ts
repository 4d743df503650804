import { describe, expect, it } from "vitest";
import { proxyHeaderBytes, readProxyHeader } from "./proxy-header.ts";

const line = (text: string) => Buffer.from(text, "latin1");
const signature = "\r\n\r\n\0\r\nQUIT\n";

/** Builds a version 2 header: `command` includes the version, and `family` the transport; `rest` follows the length. */
function version2(command: number, family: number, rest: Buffer, length = rest.length): Buffer {
  return Buffer.concat([line(signature), Buffer.from([command, family, length >> 8, length & 0xff]), rest]);
}

const ipv4 = Buffer.from([192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x34, 0x20, 0xfb]);
const ipv6 = Buffer.concat([Buffer.from("20010db8000000000000000000000007", "hex"), Buffer.alloc(20)]);

const whole: readonly (readonly [string, Buffer, string | undefined])[] = [
  ["TCP4", line("PROXY TCP4 192.0.2.7 10.0.0.1 56324 443\r\n"), "192.0.2.7"],
  ["TCP6", line("PROXY TCP6 2001:db8::7 ::1 0 65535\r\n"), "2001:db8::7"],
  ["UNKNOWN", line("PROXY UNKNOWN\r\n"), undefined],
  ["UNKNOWN with addresses", line("PROXY UNKNOWN ffff:f::1 ::1 1 2\r\n"), undefined],
  ["TCP over IPv4", version2(0x21, 0x11, ipv4), "192.0.2.7"],
  [
    "TCP over IPv4 with extensions",
    version2(0x21, 0x11, Buffer.concat([ipv4, Buffer.from([3, 0, 1, 0])])),
    "192.0.2.7",
  ],
  ["TCP over IPv6", version2(0x21, 0x21, ipv6), "2001:db8::7"],
  ["LOCAL", version2(0x20, 0x00, Buffer.alloc(0)), undefined],
  ["LOCAL with addresses", version2(0x20, 0x11, ipv4), undefined],
  ["an unknown family", version2(0x21, 0x00, Buffer.alloc(3)), undefined],
  ["a UNIX socket", version2(0x21, 0x31, Buffer.alloc(216)), undefined],
];

describe("readProxyHeader", () => {
  it.each(whole)("reads %s, byte by byte and with trailing data", (_, header, source) => {
    for (let length = 0; length < header.length; length += 1) {
      expect([length, readProxyHeader(header.subarray(0, length))]).toEqual([length, { kind: "partial" }]);
    }
    const read = { kind: "whole", endsAt: header.length, source };
    expect(readProxyHeader(header)).toEqual(read);
    expect(readProxyHeader(Buffer.concat([header, line("POST / HTTP/1.1\r\n")]))).toEqual(read);
  });

  it.each([
    ["a request", line("POST / HTTP/1.1\r\n")],
    ["TLS", Buffer.from([0x16, 3, 1])],
    ["another family", line("PROXY TCP5 192.0.2.7 10.0.0.1 1 2\r\n")],
    ["an address of the wrong family", line("PROXY TCP4 ::1 10.0.0.1 1 2\r\n")],
    ["no address", line("PROXY TCP4 192.0.2 10.0.0.1 1 2\r\n")],
    ["a missing field", line("PROXY TCP4 192.0.2.7 10.0.0.1 1\r\n")],
    ["an extra field", line("PROXY TCP4 192.0.2.7 10.0.0.1 1 2 3\r\n")],
    ["two spaces", line("PROXY TCP4  192.0.2.7 10.0.0.1 1 2\r\n")],
    ["a port out of range", line("PROXY TCP4 192.0.2.7 10.0.0.1 1 65536\r\n")],
    ["an unterminated line", line(`PROXY TCP4 ${"1".repeat(100)}`)],
    ["lowercase letters", line("proxy TCP4 192.0.2.7 10.0.0.1 1 2\r\n")],
    ["a different version", version2(0x31, 0x11, ipv4)],
    ["a different command", version2(0x22, 0x11, ipv4)],
    ["another family", version2(0x21, 0x41, ipv4)],
    ["truncated addresses", version2(0x21, 0x11, ipv4.subarray(0, 8))],
    ["IPv6 in an IPv4-sized field", version2(0x21, 0x21, ipv4)],
    ["an overlong header", version2(0x21, 0x11, ipv4, proxyHeaderBytes)],
  ])("rejects %s", (_, bytes) => {
    expect(readProxyHeader(bytes)).toEqual({ kind: "malformed" });
  });
});
