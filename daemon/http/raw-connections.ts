import type { IncomingMessage, Server } from "node:http";
import { BlockList, Socket, type Server as NetServer, type SocketAddress } from "node:net";
import type { SocketHandle } from "../hand-over/socket-exchange.ts";

/**
 * Code that depends on undocumented Node internals: an accepted socket and a request forward their input via `push`; a server serves
 * connections through its "connection" listeners; it checks its `blockList` before it creates a socket; its listening socket is its
 * `_handle`, which can be sent to another process unchanged; a socket's handle reads into our buffer once the buffer and a callback are set
 * on the socket under two symbols. All such code is in this file; the tests fail when Node changes.
 */

/** Returns the socket that a server listens on. A server itself can also be sent to another process, but would start to accept connections there. */
export function findListeningSocket(server: NetServer): SocketHandle {
  return (server as NetServer & Readonly<{ _handle: SocketHandle }>)._handle;
}

export type ServeConnection = (socket: Socket) => void;

/** Installs a handler ahead of the existing ones; it can pass connections on to them; the last one installed runs first. */
export function prependHandler(server: Server, before: (behind: ServeConnection) => ServeConnection): void {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on(
    "connection",
    before((socket) => {
      for (const listener of listeners) Reflect.apply(listener, server, [socket]);
    }),
  );
}

class Admission extends BlockList {
  readonly #mayCome: (remoteAddress: string) => boolean;

  constructor(mayCome: (remoteAddress: string) => boolean) {
    super();
    this.#mayCome = mayCome;
  }

  override check(address: string | SocketAddress): boolean {
    return !this.#mayCome(typeof address === "string" ? address : address.address);
  }
}

/** Checks connections before sockets are created for them, at a fifth of the cost; Node has no such option for `node:http` servers. */
export function filterConnections(server: NetServer, mayCome: (remoteAddress: string) => boolean): void {
  Object.assign(server, { blockList: new Admission(mayCome) });
}

/** Makes a server that accepts connections for another one apply the same check. */
export function copyConnectionFilter(server: NetServer, other: NetServer): void {
  Object.assign(server, { blockList: (other as NetServer & Readonly<{ blockList?: BlockList }>).blockList });
}

export type SocketReads = Readonly<{
  /** Resumes reading after `received` returned false. */
  resume: () => void;
  /** Hands reading back to the socket's stream. */
  release: () => void;
}>;

const nothing = Buffer.alloc(0);

const readBytes = 65_536;
/** Buffer shared by all diverted reads: one read ends before the next starts. */
const readBuffer = Buffer.allocUnsafeSlow(readBytes);

/**
 * Symbols of a socket's read buffer and read callback; undefined if this Node version has different ones: sockets are then read by their
 * `push` alone, with 7 to 10% more CPU for a call that reaches the node, and a fifth more for one that shares its response.
 */
const readInto = findReadSymbols();

function findReadSymbols(): Readonly<{ buffer: symbol; callback: symbol }> | undefined {
  const symbols = Object.getOwnPropertySymbols(new Socket());
  const [buffer, callback] = ["kBuffer", "kBufferCb"].map((name) => symbols.find((one) => one.description === name));
  return buffer === undefined || callback === undefined ? undefined : { buffer, callback };
}

type ReadingHandle = Readonly<{ useUserBuffer?: (buffer: Buffer) => void }>;

/** Makes a socket read into the shared buffer; each read calls `received`, and false stops reading until reads resume. */
function readIntoBuffer(socket: Socket, received: (bytes: Buffer) => boolean): void {
  const handle = (socket as Socket & Readonly<{ _handle?: ReadingHandle | null }>)._handle;
  if (readInto === undefined || handle?.useUserBuffer === undefined) return;
  const isFirst = Reflect.get(socket, readInto.buffer) !== readBuffer;
  if (isFirst) handle.useUserBuffer(readBuffer);
  const callback = (length: number) => received(readBuffer.subarray(0, length));
  Object.assign(socket, { [readInto.buffer]: readBuffer, [readInto.callback]: callback });
}

/**
 * Diverts an accepted socket's reads before they pass through its stream, as `onread` does for a client socket; Node has no such option for
 * a server's sockets. The stream's overhead, a garbage-collected buffer and a tick per read, is a large part of a short request's cost. End
 * and error events are unaffected. `received` returns false to pause until `resume`. The next read from any socket overwrites the bytes
 * passed to `received`, so copy any that must be retained.
 */
export function divertReads(socket: Socket, received: (bytes: Buffer) => boolean): SocketReads {
  let isStopped = false;
  let isReleased = false;
  const push = socket.push.bind(socket);
  // An empty chunk ends the stream's read, so that the stream reads again.
  const readAgain = () => void push(nothing);
  const receive = (bytes: Buffer) => {
    isStopped = !received(bytes) && !isReleased;
    return !isStopped;
  };
  socket.push = (bytes: Buffer | null) => (bytes === null ? push(null) : receive(bytes));
  readIntoBuffer(socket, receive);
  return {
    resume: () => {
      if (!isStopped) return;
      isStopped = false;
      readAgain();
    },
    release: () => {
      isReleased = true;
      isStopped = false;
      Reflect.deleteProperty(socket, "push");
      readIntoBuffer(socket, (bytes) => push(copyBytes(bytes)));
      readAgain();
    },
  };
}

function copyBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}

/** Pushes bytes back to the reader of a socket, as if they had just arrived. */
export function pushBackBytes(socket: Socket, bytes: Buffer): void {
  socket.push(bytes);
}

/** Bytes of a body forwarded at once; a chunk of at least this size is forwarded unchanged. */
const gatheredBytes = 16_384;

/**
 * Gathers the chunks of request bodies before anything reads them. Each chunk that passes through a web stream costs some 20 µs and 200
 * bytes, so a body sent in one-byte chunks or packets would take a thousand times the CPU and memory of a body sent in one piece. If the
 * chunks are gathered, the cost depends only on the body's size.
 */
export function gatherChunks(server: Server): void {
  server.prependListener("request", (incoming: IncomingMessage) => gather(incoming));
}

function gather(incoming: IncomingMessage): void {
  const push = incoming.push.bind(incoming);
  let buffer: Buffer | undefined;
  let length = 0;
  const handOn = (): boolean => {
    const whole = buffer?.subarray(0, length);
    buffer = undefined;
    length = 0;
    return whole === undefined || push(whole);
  };
  // The parser calls this for each chunk, with null at the end; node:http uses it to pass bodies to their readers.
  incoming.push = (chunk: Buffer | null): boolean => {
    if (chunk === null) {
      handOn();
      return push(null);
    }
    if (length + chunk.length > gatheredBytes) {
      const wantsMore = handOn();
      if (chunk.length >= gatheredBytes) return push(chunk);
      buffer = growBuffer(undefined, 0, chunk.length);
      chunk.copy(buffer);
      length = chunk.length;
      return wantsMore;
    }
    buffer = growBuffer(buffer, length, length + chunk.length);
    chunk.copy(buffer, length);
    length += chunk.length;
    return true;
  };
}

function growBuffer(buffer: Buffer | undefined, used: number, needed: number): Buffer {
  if (buffer !== undefined && needed <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafe(Math.min(gatheredBytes, Math.max(needed, 2 * used)));
  buffer?.copy(larger, 0, 0, used);
  return larger;
}
