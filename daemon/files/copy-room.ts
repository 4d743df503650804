/** A copy may not fill the disk to its last byte: others write on. */
const roomShare = 1.1;

/** Whether there is room for a copy of so many bytes. Pure. */
export function hasRoomFor({ bytes, freeBytes }: Readonly<{ bytes: number; freeBytes: number }>): boolean {
  return bytes * roomShare <= freeBytes;
}
