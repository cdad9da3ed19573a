/*
 * shards.h - FILE.shards: many small images packed into one file, ours, for training without opening any of
 * them.
 *
 * One file, not one a shard: it is opened once and mapped, all ranks of a host share its pages, it is
 * complete or absent (written beside its place, then renamed), and a parallel file system stripes it. A
 * shard is a block of about 256 KiB of whole images with a CRC-32 (zlib's) of its own, which is checked
 * when it is first read. All numbers are little endian, 64 bits where they may grow.
 *
 *     offset  bytes
 *     0       8      "RSHARDS\n"
 *     8       4      version, 1
 *     12      4 × 3  channels (1 or 3), height, width of every image
 *     24      4      classes
 *     28      4      images a shard; the last shard may have fewer
 *     32      8 × 2  training images, test images: in this order
 *     48      8 × 3  where the tables begin: the classes' names (each ends with a 0), the classes of the images
 *                    (4 bytes each), the index (a shard's offset, 8 bytes; its CRC-32, 4 bytes; its images, 4 bytes)
 *     72      8      length of the file; the tables reach from the names to here
 *     80      8 × 6  mean and then deviation of each channel over the training images, as doubles, pixels being 0 to 1
 *     128     4 × 2  CRC-32 of the tables, CRC-32 of the 132 bytes before this one
 *     136            the shards: images of channels × height × width bytes; then the tables
 */
#ifndef RINGSIDE_DATA_SHARDS_H
#define RINGSIDE_DATA_SHARDS_H

#include "engine/data/dataset.h"

enum {
    SHARDS_VERSION = 1,
    SHARDS_HEADER_BYTES = 136,
    SHARDS_INDEX_BYTES = 16,
    SHARDS_MAX_CHANNELS = 3,
    SHARDS_MAX_CLASSES = 1 << 20,
    SHARD_BYTES = 256 << 10,
};

/* What the header says. */
struct shards_header {
    struct model_shape shape;
    uint32_t classes, shard_rows;
    uint64_t rows[2]; /* of DATASET_TRAIN, DATASET_TEST */
    uint64_t names_at, labels_at, index_at, file_bytes;
    double mean[SHARDS_MAX_CHANNELS], deviation[SHARDS_MAX_CHANNELS];
    uint32_t tables_crc;
};

/* --- reading --- */

bool shards_known(const char *name); /* it ends with ".shards" */
bool shards_read(const char *path, enum dataset_part part, struct dataset *d, struct error *e);

struct shards_report {
    struct shards_header header;
    uint64_t shards;
};
/* Reads every byte. ERROR_INPUT names the first shard whose CRC-32 is wrong, or what else is. */
bool shards_verify(const char *path, struct shards_report *report, struct error *e);

/* --- writing --- */

struct shards_writer;

/*
 * shape, classes and rows of the header must be filled in; names: of the classes. Writes to a file beside path, which
 * becomes path in shards_finish; shards_free without it leaves nothing behind.
 */
struct shards_writer *shards_create(const char *path, const struct shards_header *header,
                                    const char *const *names, struct error *e);
/* The next image, training images first: C × H × W bytes. */
bool shards_add(struct shards_writer *w, const uint8_t *pixels, uint32_t class, struct error *e);
bool shards_finish(struct shards_writer *w, struct error *e);
void shards_free(struct shards_writer *w);

/* The header's bytes, and back. Fails where they make no sense by themselves; path is for the message. */
void shards_header_pack(const struct shards_header *h, uint8_t bytes[SHARDS_HEADER_BYTES]);
bool shards_header_unpack(const uint8_t bytes[SHARDS_HEADER_BYTES], const char *path, struct shards_header *h,
                          struct error *e);

#endif
