import { connect, type Socket } from "node:net";

/** Bits of a WebSocket frame (RFC 6455, section 5.2). */
const textOpcode = 1;
const pingOpcode = 9;
const inTwoBytes = 126;
const longestHead = 4;
/** A pong without a payload, masked as clients must; without a payload, any mask is valid. */
const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

const none = Buffer.alloc(0);

/** A buffer that all clients share, because they read one after another. */
const readBuffer = Buffer.allocUnsafeSlow(65_536);

/**
 * Opens a WebSocket that sends one short text, then counts incoming text messages and does nothing else with them:
 * thousands of such clients use little of the machine that they share with the measured process. It connects from the
 * given address, because each client of a gateway has its own address, which limits apply to. Resolves when the
 * WebSocket is open.
 */
export function connectCounting(url: string, localAddress: string, text: string, arrived: () => void): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  let isOpen = false;
  let skipBytes = 0;
  let held = none;

  const readFrames = (bytes: Buffer) => {
    let at = 0;
    while (at < bytes.length) {
      if (skipBytes > 0) {
        const skipped = Math.min(skipBytes, bytes.length - at);
        skipBytes -= skipped;
        at += skipped;
        continue;
      }
      if (bytes.length - at < longestHead && bytes.length - at < countHeadBytes(bytes, at)) break;
      const opcode = (bytes[at] ?? 0) & 0x0f;
      if (opcode === textOpcode) arrived();
      if (opcode === pingOpcode) socket.write(pong);
      const isLong = bytes[at + 1] === inTwoBytes;
      skipBytes = isLong ? bytes.readUInt16BE(at + 2) : (bytes[at + 1] ?? 0);
      at += isLong ? 4 : 2;
    }
    held = at < bytes.length ? Buffer.from(bytes.subarray(at)) : none;
  };
  const take = (bytes: Buffer) => {
    const all = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    if (isOpen) return readFrames(all);
    const end = all.indexOf("\r\n\r\n");
    held = Buffer.from(all);
    if (end === -1) return undefined;
    if (!all.toString("latin1", 0, end).includes(" 101 ")) return reject(new Error(all.toString("latin1", 0, end)));
    isOpen = true;
    held = none;
    socket.write(encodeText(text));
    resolve(socket);
    return readFrames(all.subarray(end + 4));
  };
  const socket: Socket = connect({
    host: hostname,
    port: Number(port),
    localAddress,
    onread: {
      buffer: readBuffer,
      callback: (length, bytes) => {
        take(Buffer.from(bytes.buffer, bytes.byteOffset, length));
        return true;
      },
    },
  });
  socket.on("error", reject);
  socket.on("connect", () => {
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
  });
  return promise;
}

/** Counts the bytes of the frame header that starts here, as far as they have arrived. */
function countHeadBytes(bytes: Buffer, at: number): number {
  return bytes.length - at >= 2 && bytes[at + 1] !== inTwoBytes ? 2 : longestHead;
}

/** Encodes a short text as a client's frame, masked with zeros. */
function encodeText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text, "latin1")]);
}
