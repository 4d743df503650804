import { setTimeout as delay } from "node:timers/promises";
import type { Attack } from "./attack.ts";
import { asMany, openAttackingSocket, buildCall, waitUntilClosed, buildRequest } from "./attacker.ts";

/** Time after which an attacker closes a connection that the target has not closed. */
const holdMs = 120_000;

/** Idle connections, more than the process has descriptors for. */
export const idleConnections: Attack = {
  name: "idle connections",
  what: "1,500 connections from 6 addresses that send nothing and are reopened when closed",
  attackers: 1_500,
  run: async (target, signal) => {
    const hold = async (connection: number) => {
      // Not all at once, because the kernel's own queue would reject them.
      await delay((connection % 100) * 10, undefined, { signal });
      const socket = await openAttackingSocket(target, connection % 6, signal);
      socket.resume();
      await waitUntilClosed(socket, holdMs);
      socket.destroy();
    };
    await asMany(idleConnections.attackers, signal, hold, 1_000);
  },
};

/** Requests that are never completed. */
export const slowHeads: Attack = {
  name: "slow requests",
  what: "300 connections from 6 addresses that send a head, or a body, byte by byte",
  attackers: 300,
  run: async (target, signal) => {
    const request = buildRequest(buildCall(1, "eth_chainId", "[]"), `X-Long: ${"x".repeat(200)}`);
    const trickle = async (connection: number) => {
      const socket = await openAttackingSocket(target, connection % 6, signal);
      socket.resume();
      // Half of the requests stop within the headers, half within the body.
      const quick = connection % 2 === 0 ? 20 : request.length - 40;
      socket.write(request.slice(0, quick));
      for (let at = quick; at < request.length - 1 && !socket.destroyed; at += 1) {
        await delay(1_000, undefined, { signal });
        socket.write(request[at] ?? "");
      }
      await waitUntilClosed(socket, holdMs);
      socket.destroy();
    };
    await asMany(slowHeads.attackers, signal, trickle, 200);
  },
};

/** A body of one-byte chunks that never ends. */
export const oneByteChunks: Attack = {
  name: "one-byte chunks",
  what: "8 connections from 2 addresses with bodies in chunks of one byte, as fast as they are read",
  attackers: 8,
  run: async (target, signal) => {
    const chunks = "1\r\n \r\n".repeat(20_000);
    const head = ["POST / HTTP/1.1", "Host: a", "Content-Type: application/json", "Transfer-Encoding: chunked"];
    const send = async (connection: number) => {
      const socket = await openAttackingSocket(target, connection % 2, signal);
      socket.resume();
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      while (!socket.destroyed && !signal.aborted) {
        if (!socket.write(chunks)) {
          await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), waitUntilClosed(socket, 5_000)]);
        }
        await delay(20, undefined, { signal });
      }
    };
    await asMany(oneByteChunks.attackers, signal, send, 50);
  },
};

/** Clients that request a lot and read none of it. */
export const deafReaders: Attack = {
  name: "deaf readers",
  what: "100 connections from 2 addresses that request responses of 2 MB, several at a time, and read nothing",
  attackers: 100,
  run: async (target, signal) => {
    let sent = 0;
    const ask = async (connection: number) => {
      const socket = await openAttackingSocket(target, connection % 2, signal);
      socket.pause();
      for (let call = 0; call < 4; call += 1) {
        sent += 1;
        socket.write(buildRequest(buildCall(sent, "eth_getBlockReceipts", `["0x${sent.toString(16)}"]`)));
      }
      await waitUntilClosed(socket, 30_000);
      socket.destroy();
    };
    await asMany(deafReaders.attackers, signal, ask, 200);
  },
};
