import hashlib
import unittest

import log


class Log(unittest.TestCase):
    def test_ed25519_of_rfc_8032(self):
        key = log.Key(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
        self.assertEqual(key.public.hex(), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        self.assertTrue(key.sign(b"").hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"))

    def test_the_key_of_the_specification_of_notes(self):
        public = bytes.fromhex("e932791ae6e7a840a46164c904786426d5e7821dd8b29a00d61cae72afdd4da4")
        self.assertEqual(log.note_key_id("example.com/foo", 1, public).hex(), "530d903a")

    def test_roots_of_certificate_transparency(self):
        entries = [b"", b"\x00", b"\x10", b"\x20\x21"]
        leaves = [log.leaf_hash(entry) for entry in entries]
        self.assertEqual(log.tree_hash(leaves).hex(), "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7")
        self.assertEqual(log.tree_hash([]), hashlib.sha256().digest())
        self.assertEqual(log.inclusion_proof(leaves[:3], 2), [log.tree_hash(leaves[:2])])

    def test_paths(self):
        self.assertEqual(log.tile_path(0, 1234067, 256), "tile/0/x001/x234/067")
        self.assertEqual(log.tile_path("entries", 2, 88), "tile/entries/002.p/88")


if __name__ == "__main__":
    unittest.main()
