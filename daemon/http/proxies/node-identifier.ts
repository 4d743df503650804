import { isIP } from "node:net";
import { plainAddress } from "./address-key.ts";

const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/;
const withPort = /^([\d.]+):\d{1,5}$/;

/**
 * The address in what a proxy calls a node, with or without a port (RFC 7239, section 6); some write ports into X-Forwarded-For too.
 * Undefined for `unknown`, a hidden name and whatever else is no address.
 */
export function addressOfNode(node: string): string | undefined {
  const text = node.trim();
  const host = bracketed.exec(text)?.[1] ?? withPort.exec(text)?.[1] ?? text;
  return isIP(host) === 0 ? undefined : plainAddress(host);
}
