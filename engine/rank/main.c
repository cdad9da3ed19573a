/*
 * main.c - `ringside-rank`: one process per rank.
 */
int main(void)
{
    return 3;
}
