-- Which of 65 characters follows? Asked after each of 64. 349 569 parameters.
return model{
    embedding{65, 64},
    lstm{256},
    dense{65},
    input = {tokens = 64},
}
