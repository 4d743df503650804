import { describe, expect, it } from "vitest";
import { clientAddress } from "./client-address.ts";

describe("clientAddress", () => {
  it("believes nobody's X-Forwarded-For unless told to", () => {
    expect(clientAddress([])("203.0.113.9", "1.2.3.4")).toBe("203.0.113.9");
    expect(clientAddress(["10.0.0.0/8"])("203.0.113.9", "1.2.3.4")).toBe("203.0.113.9");
  });

  it("takes the last address that no trusted proxy has", () => {
    const address = clientAddress(["10.0.0.0/8", "192.0.2.1"]);
    expect(address("10.1.2.3", "6.6.6.6, 203.0.113.9, 192.0.2.1")).toBe("203.0.113.9");
    expect(address("::ffff:10.1.2.3", "203.0.113.9")).toBe("203.0.113.9");
    expect(address("10.1.2.3", "nonsense")).toBe("10.1.2.3");
    expect(address("10.1.2.3", undefined)).toBe("10.1.2.3");
  });

  it("counts an IPv6 client by its /64", () => {
    const address = clientAddress([]);
    expect(address("2001:db8::1", undefined)).toBe("2001:db8:0:0::/64");
    expect(address("2001:db8:0:0:ffff::2", undefined)).toBe("2001:db8:0:0::/64");
    expect(address("2001:db8:0:1::1", undefined)).toBe("2001:db8:0:1::/64");
    expect(address("::1", undefined)).toBe("0:0:0:0::/64");
    expect(address("::ffff:127.0.0.1", undefined)).toBe("127.0.0.1");
  });
});
