// ---- data: the block that Python wrote, as columns. Plain JSON for small graphs; for large ones typed arrays
// behind a JSON header, gzipped, in base64 (see packing.py).

async function readData() {
  const block = JSON.parse(byId("data").textContent);
  if (!block.packed) return block;
  const bytes = await unzipped(block.packed);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = new TextDecoder().decode(bytes.subarray(4, 4 + length));
  const arrays = bytes.subarray(4 + length);
  return JSON.parse(header, (key, value) => (value && value["@"] ? unpackedColumn(arrays, ...value["@"]) : value));
}

async function unzipped(base64) {
  const stream = new Blob([fromBase64(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

const ARRAYS = { u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };

// Entries lie byte plane by byte plane; "d" says that each is the difference to the one before.
function unpackedColumn(bytes, type, offset, length, way) {
  const size = ARRAYS[type].BYTES_PER_ELEMENT, joined = new Uint8Array(length * size);
  for (let plane = 0; plane < size; plane++) {
    const from = offset + plane * length;
    for (let at = 0; at < length; at++) joined[at * size + plane] = bytes[from + at];
  }
  const stored = new ARRAYS[type](joined.buffer);
  if (way !== "d") return stored;
  const column = new Int32Array(length);
  let sum = 0;
  for (let at = 0; at < length; at++) column[at] = sum += stored[at];
  return column;
}
